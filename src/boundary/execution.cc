#include "boundary/execution.h"

#include <utility>
#include <variant>

#include "boundary/decide.h"

namespace oncekey {
namespace {

// Overloads for the alternatives of Operation; each fills its outcome.
struct Execution {
  Records& records;
  TimestampMs now;

  void operator()(Reserve& reserve) const {
    const auto current = records.find(reserve.id, now);
    if (!current) return refuse_with(reserve, current.error());
    ReserveDecision decision = decide_reserve(*current, reserve, now, records.next_fence());
    if (decision.next) records.store(std::move(*decision.next));
    reserve.outcome = std::move(decision.outcome);
  }

  void operator()(Settle& settle) const {
    change(settle, [&](const Record* current) { return decide_settle(current, settle, now); });
  }

  void operator()(Resolve& resolve) const {
    change(resolve, [&](const Record* current) {
      return decide_resolve(current, resolve, now, records.next_fence());
    });
  }

  void operator()(Heartbeat& heartbeat) const {
    const auto current = records.find(heartbeat.id, now);
    if (!current) return refuse_with(heartbeat, current.error());
    SettleDecision decision = decide_heartbeat(*current, heartbeat, now);
    if (decision.next) records.extend(std::move(*decision.next));
    heartbeat.outcome = std::move(decision.outcome);
  }

  void operator()(Get& get) const {
    const auto current = records.find(get.id, now);
    if (!current) return refuse_with(get, current.error());
    std::optional<Record> record;
    if (*current != nullptr && !is_gone(**current, now)) {
      record = **current;
      age(*record, now);
    }
    get.outcome = std::move(record);
  }

  void operator()(List& list) const {
    auto page = records.list(list, now);
    if (!page) return refuse_with(list, page.error());
    for (Record& record : *page) record.read_at = now;
    list.outcome = std::move(*page);
  }

  void operator()(Sweep& sweep) const {
    std::vector<RecordId> swept = records.leases_over(now, sweep.limit);
    for (const RecordId& id : swept) {
      const auto current = records.find(id, now);
      if (!current || *current == nullptr) continue;
      auto next = decide_sweep(**current, now, records.next_fence());
      if (next) records.store(std::move(*next));
    }
    sweep.outcome = std::move(swept);
  }

  void operator()(Evict& evict) const {
    const auto current = records.find(evict.id, now);
    if (!current) return refuse_with(evict, current.error());
    EvictDecision decision = decide_evict(*current, evict, now);
    if (decision.remove) records.remove(std::get<Evicted>(decision.outcome).before);
    evict.outcome = std::move(decision.outcome);
  }

  void operator()(Reap& reap) const { reap.outcome = records.reap(now, reap.limit); }

 private:
  template <class Op, class Decide>
  void change(Op& operation, const Decide& decide) const {
    const auto current = records.find(operation.id, now);
    if (!current) return refuse_with(operation, current.error());
    SettleDecision decision = decide(*current);
    if (decision.next) records.store(std::move(*decision.next));
    operation.outcome = std::move(decision.outcome);
  }

  template <class Op>
  static void refuse_with(Op& operation, const std::string& reason) {
    // What cannot be read may be there.
    operation.outcome = Unavailable{.reason = reason, .in_use = true};
  }
};

}  // namespace

void execute(Operation& operation, Records& records, TimestampMs now) {
  std::visit(Execution{records, now}, operation);
}

void refuse(Operation& operation, const Unavailable& why) {
  std::visit([&](auto& alternative) { alternative.outcome = why; }, operation);
}

}  // namespace oncekey
