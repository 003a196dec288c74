// The engine on PostgreSQL: a batch is one statement over arrays, and one commit.
//
// Leases and retention follow the server's clock. The rules are the functions of
// sql/0001_records.sql; where a record only has to be read, the rules of boundary/decide.h are
// asked as everywhere else.
//
// Every reservation carries a fence that was chosen here, so a batch whose answer was lost can be
// sent again as it was: what it had done is recognised by its fence, and nothing is done twice.
// When there is no time left for that, the reservations are in doubt: their callers are told that
// they failed, and they are withdrawn before the connection is used again.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "oncekey/result.h"
#include "oncekey/store.h"
#include "store/postgres_rows.h"
#include "store/postgres_session.h"
#include "transaction/fence_source.h"

namespace oncekey::store {

struct PostgresOptions {
  std::string url;
  DurationMs timeout_ms = 2'000;  // a batch slower than this is given up
  // Of all engines of one store; null: of this one alone.
  std::shared_ptr<PostgresReservations> reservations;
};

class PostgresEngine final : public Engine {
 public:
  // Connects, and refuses a database whose schema this build does not know.
  static Result<std::unique_ptr<Engine>, std::string> open(const PostgresOptions& options);

  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  EngineInfo info() const override;
  EngineStats stats() const override;
  EngineCounts counts() const override { return {commits_, statements_, in_doubt_}; }

 private:
  using Deadline = PostgresSession::Deadline;
  using Reserving = std::unordered_map<Fence, Reserve*>;  // by the fence that was sent

  explicit PostgresEngine(const PostgresOptions& options);

  // Of each record at most one.
  void reserve_all(std::vector<Reserve*> reserves, Deadline deadline);
  // Of a record that reserve_all() has just dealt with, any number.
  void repeat_all(std::vector<Reserve*> repeats, Deadline deadline);
  void get_all(const std::vector<Get*>& gets, Deadline deadline);
  void get_some(std::span<const std::vector<Get*>> of_one, Deadline deadline);
  void settle_all(std::vector<Operation*> operations, Deadline deadline);
  void settle_together(const std::vector<Operation*>& operations, Deadline deadline);
  void apply_alone(Operation& operation, Deadline deadline);

  // What the batch's statement could not decide. The error: nothing could be read. `in_doubt`: an
  // answer to the statement was lost, so that they may be held under their fences already.
  std::optional<PostgresError> answer_from_records(Reserving& open, Deadline deadline);
  bool is_held(Reserve& reserve) const;  // by somebody else: it is answered
  void reserve_alone(Reserve& reserve, Fence fence, bool in_doubt, Deadline deadline);
  void settle_again(Operation& operation, Deadline deadline);
  template <class Op>
  void explain(Op& op, Operation& operation, Deadline deadline);
  void explain(Resolve& resolve, Fence fence, bool in_doubt, Deadline deadline);
  void leave_in_doubt(const Reserving& open);
  void remember(const PostgresResult& made);
  void drop_finished_holds(Deadline deadline);

  void execute(Resolve& resolve, Deadline deadline);
  void execute(List& list, Deadline deadline);
  void execute(Sweep& sweep, Deadline deadline);
  void rehearse(Sweep& sweep, Deadline deadline);
  void execute(Reap& reap, Deadline deadline);
  void execute(Evict& evict, Deadline deadline);

  // Sends until there is an answer or no time is left. Sets `in_doubt` when an answer was lost: the
  // server may have done it, whatever it said to a later try.
  Result<PostgresResult, PostgresError> call(const std::string& name, const std::string& sql,
                                             const PostgresParameters& parameters,
                                             Deadline deadline, bool* in_doubt = nullptr);

  static Unavailable unavailable(const PostgresError& error);
  void hurry(PostgresConnection& connection, Deadline deadline);
  void be_patient(Deadline deadline);

  PostgresOptions options_;
  PostgresSession session_;
  bool is_hurried_ = false;               // until the end of the batch
  std::map<RecordId, Unavailable> held_;  // by somebody else, as this batch has found out
  transaction::FenceSource fences_;
  bool survives_power_cut_ = true;
  std::atomic<std::uint64_t> statements_{0};
  std::atomic<std::uint64_t> commits_{0};
  std::atomic<std::uint64_t> in_doubt_{0};

  mutable std::mutex stats_mutex_;
  mutable PostgresSession stats_session_;  // guarded by stats_mutex_
  mutable EngineStats last_stats_;         // guarded by stats_mutex_
};

// The value in force for all nodes; the first to name one decides.
Result<std::string, PostgresError> agree_in_postgres(const PostgresOptions& options,
                                                     std::string_view name, std::string_view value);

}  // namespace oncekey::store
