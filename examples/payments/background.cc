#include "background.h"

#include <cstdio>

#include "rows.h"

namespace payments {
namespace {

constexpr std::size_t workflows_at_a_time = 20;
constexpr int inquiries_at_a_time = 20;

}  // namespace

Background::Background(std::unique_ptr<Desk> desk, const Provider& provider,
                       std::chrono::milliseconds every, std::chrono::milliseconds patience)
    : desk_(std::move(desk)),
      provider_(provider),
      patience_(patience),
      role_(every, [this] { return run_once(); }) {}

bool Background::run_once() {
  try {
    const auto payments = desk_->payment.complete_stalled(workflows_at_a_time);
    const auto refunds = desk_->refund.complete_stalled(workflows_at_a_time);
    for (const oncekey::CompletedCounts& counts : {payments, refunds}) {
      if (counts.stuck > 0) std::fprintf(stderr, "completer: %s\n", counts.error.c_str());
    }
    inquire(charge_order);
    inquire(refund_order);
    return payments.more || refunds.more;
  } catch (const std::exception& error) {  // logged, and tried again: others wait for this thread
    std::fprintf(stderr, "background: %s\n", error.what());
    desk_->connection->database().rollback();
    desk_->connection->revive();
    return false;
  }
}

// A webhook can be lost for good; what the provider made of an order can always be asked.
void Background::inquire(const Order& order) {
  Connection& connection = *desk_->connection;
  const auto keys = overdue(connection, order.table, patience_.count(), inquiries_at_a_time);
  for (const std::string& key : keys) {
    const auto verdict = provider_.find(std::string("/") + order.sink, key);
    if (verdict) decide(connection, order.table, key, *verdict);
  }
}

}  // namespace payments
