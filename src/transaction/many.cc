// Many operations at once, where the database has no better way than one after the other.
#include "oncekey/transaction.h"

namespace oncekey {

std::vector<ReserveOutcome> Transaction::reserve_all(std::span<const Reserve> reserves) {
  std::vector<ReserveOutcome> outcomes;
  for (const Reserve& each : reserves) outcomes.push_back(reserve(each));
  return outcomes;
}

std::vector<SettleOutcome> Transaction::settle_all(std::span<const Settle> settles) {
  std::vector<SettleOutcome> outcomes;
  for (const Settle& each : settles) outcomes.push_back(settle(each));
  return outcomes;
}

void Transaction::enqueue_all(std::span<const Message> messages) {
  for (const Message& each : messages) enqueue(each);
}

}  // namespace oncekey
