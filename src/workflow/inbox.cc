#include "oncekey/inbox.h"

#include <string>

#include "workflow/transactor.h"

namespace oncekey {

bool consume_once(Database& database, std::string_view consumer, std::string_view message_key,
                  const std::function<void(Transaction&)>& handle) {
  if (database.in_transaction()) {
    throw Misuse(
        "consume_once() makes a transaction of its own, but one is open on the connection; use "
        "transaction().consume_once() inside of it");
  }
  const RunnerOptions options;
  std::minstd_rand random(std::random_device{}());
  workflow::Transactor transactor(database, options, random);
  bool first = false;
  const auto committed = transactor.run([&] {
    Transaction& transaction = database.transaction();
    first = transaction.consume_once(consumer, message_key);
    if (!first) return workflow::Ending::roll_back;
    handle(transaction);
    if (!database.in_transaction()) {
      throw Misuse("the handler of \"" + std::string(consumer) +
                   "\" committed or rolled back by itself; consume_once() does that");
    }
    return workflow::Ending::commit;
  });
  if (committed == workflow::Committed::doubt) {
    throw DatabaseError(DatabaseError::Kind::lost,
                        "the connection was lost while a message was committed; handle it again");
  }
  return first;
}

}  // namespace oncekey
