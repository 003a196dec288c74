// Settlements and heartbeats on PostgreSQL.
#include <algorithm>
#include <chrono>
#include <unordered_map>

#include "boundary/decide.h"
#include "boundary/execution.h"
#include "store/answer_size.h"
#include "store/postgres.h"
#include "store/postgres_complete_sql.h"
#include "store/postgres_rows.h"
#include "store/postgres_settle_sql.h"

namespace oncekey::store {
namespace {

// Of the answers in one statement, unless one alone is larger. A statement has two seconds at most.
constexpr std::size_t together_bytes_max = 4 << 20;

const RecordId& id_of(const Operation& settle_or_heartbeat) {
  const auto* settle = std::get_if<Settle>(&settle_or_heartbeat);
  return settle != nullptr ? settle->id : std::get<Heartbeat>(settle_or_heartbeat).id;
}

Fence fence_of(const Operation& settle_or_heartbeat) {
  const auto* settle = std::get_if<Settle>(&settle_or_heartbeat);
  return settle != nullptr ? settle->fence : std::get<Heartbeat>(settle_or_heartbeat).fence;
}

// A row that somebody holds, or a value that the server does not take: the others need not suffer
// for it.
bool may_be_due_to_one(const PostgresError& error) {
  const bool about_values = error.sqlstate.starts_with("22") || error.sqlstate.starts_with("54");
  return waited_for_a_lock(error) || about_values;
}

Settled settled(const Settle& settle, TimestampMs due_at) {
  const bool completed = std::holds_alternative<SettleCompleted>(settle.verdict);
  return {.expires_at = completed ? due_at : 0};
}

Settled settled(const Heartbeat&, TimestampMs due_at) {
  return {.expires_at = due_at};
}

std::string_view target_state(const Settle& settle) {
  return state_name(settle.verdict);
}

std::string_view target_state(const Heartbeat&) {
  return "in_progress";
}

}  // namespace

void PostgresEngine::settle_all(std::vector<Operation*> operations, Deadline deadline) {
  std::size_t bytes = 0;
  for (const Operation* const operation : operations) bytes += answer_bytes(*operation);
  if (bytes <= together_bytes_max) return settle_together(operations, deadline);
  // The small ones first: a large one may use up the time.
  std::stable_sort(operations.begin(), operations.end(),
                   [](Operation* a, Operation* b) { return answer_bytes(*a) < answer_bytes(*b); });
  std::vector<Operation*> together;
  bytes = 0;
  for (Operation* const operation : operations) {
    bytes += answer_bytes(*operation);
    if (!together.empty() && bytes > together_bytes_max) {
      settle_together(together, deadline);
      together.clear();
      bytes = answer_bytes(*operation);
    }
    together.push_back(operation);
  }
  settle_together(together, deadline);
}

void PostgresEngine::settle_together(const std::vector<Operation*>& operations, Deadline deadline) {
  SettleRows rows;
  std::unordered_map<Fence, Operation*> open;
  std::vector<Operation*> same_fence;  // of another record, which only a wrong caller can cause
  std::vector<Operation*> sorted = operations;
  std::sort(sorted.begin(), sorted.end(),
            [](Operation* a, Operation* b) { return id_of(*a) < id_of(*b); });
  std::vector<Fence> fences;
  for (Operation* const operation : sorted) fences.push_back(fence_of(*operation));
  const auto places = options_.reservations->take_places(fences);
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    Operation* const operation = sorted[i];
    if (open.emplace(fences[i], operation).second) {
      rows.add(*operation, places[i]);
    } else {
      same_fence.push_back(operation);
    }
  }
  static const std::string settle_statement(settle_sql), complete_statement(complete_sql);
  auto done = rows.only_completes()
                  ? call("oncekey_complete", complete_statement, rows.to_complete(), deadline)
                  : call("oncekey_settle", settle_statement, rows.to_settle(), deadline);
  if (!done && operations.size() > 1 && may_be_due_to_one(done.error())) {
    for (Operation* const operation : operations) {
      refuse(*operation, {.reason = reason_of(done.error()), .store_serves = true});
      if (std::chrono::steady_clock::now() < deadline) settle_together({operation}, deadline);
    }
    return;
  }
  if (!done) {
    const bool due_to_one = may_be_due_to_one(done.error());
    for (Operation* const operation : operations)
      refuse(*operation, {.reason = reason_of(done.error()),
                          .store_serves = due_to_one,
                          .refused = done.error().kind != PostgresError::Kind::lost});
    return;
  }
  if (done->rows() > 0) ++commits_;
  std::vector<Fence> ended;
  for (int row = 0; row < done->rows(); ++row) {
    const auto found = open.find(static_cast<Fence>(done->integer(row, 0)));
    const TimestampMs due_at = done->timestamp(row, 1);
    if (auto* settle = std::get_if<Settle>(found->second)) {
      settle->outcome = settled(*settle, due_at);
      ended.push_back(found->first);
    } else {
      auto& heartbeat = std::get<Heartbeat>(*found->second);
      heartbeat.outcome = settled(heartbeat, due_at);
    }
    open.erase(found);
  }
  options_.reservations->end(ended);
  for (const auto& [fence, operation] : open) settle_again(*operation, deadline);
  for (Operation* const operation : same_fence) settle_together({operation}, deadline);
}

void PostgresEngine::settle_again(Operation& operation, Deadline deadline) {
  if (auto* settle = std::get_if<Settle>(&operation)) {
    explain(*settle, operation, deadline);
  } else {
    explain(std::get<Heartbeat>(operation), operation, deadline);
  }
}

template <class Op>
void PostgresEngine::explain(Op& op, Operation& operation, Deadline deadline) {
  PostgresParameters parameters;
  parameters.text(to_postgres_text(op.id.scope));
  parameters.text(to_postgres_text(op.id.key));
  parameters.integer(static_cast<std::int64_t>(op.fence));
  parameters.text(target_state(op));
  auto rows = call("oncekey_settle_again",
                   "SELECT repeated, possible, moment, state::text, due_at, tombstone_ms "
                   "FROM oncekey.settle_again($1, $2, $3, $4::text::oncekey.state)",
                   parameters, deadline);
  if (!rows) {
    op.outcome = Unavailable{.reason = reason_of(rows.error()),
                             .store_serves = may_be_due_to_one(rows.error())};
  } else if (rows->boolean(0, 0)) {
    ++commits_;
    op.outcome = settled(op, rows->timestamp(0, 4));
  } else if (rows->boolean(0, 1)) {
    settle_together({&operation}, deadline);
  } else {
    op.outcome = stale_fence(rows->bytes(0, 3), rows->timestamp(0, 4), rows->integer(0, 5),
                             rows->timestamp(0, 2));
  }
}

}  // namespace oncekey::store
