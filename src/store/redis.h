// Redis: fast and shared by many nodes, and as durable as its server is set up to be. Every
// operation is one script, so it happens at once or not at all; leases and retention follow the
// server's clock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"
#include "oncekey/store.h"
#include "store/redis_doubts.h"
#include "store/redis_hold.h"
#include "store/redis_keys.h"
#include "store/redis_router.h"
#include "store/redis_scripts.h"
#include "transaction/fence_source.h"

namespace oncekey::store {

struct RedisOptions {
  std::string url;  // "redis://…" or "redis+cluster://…"
  DurationMs timeout_ms = 2'000;
  // Of all engines of one store; null: of this one alone.
  std::shared_ptr<RedisDoubts> doubts;
  std::shared_ptr<RedisReservations> reservations;
  RedisScripts::Clock clock = RedisScripts::Clock::server;
};

class RedisEngine : public Engine {
 public:
  // Connects, and refuses a server that is too old, or that may forget keys to make room.
  static Result<std::unique_ptr<RedisEngine>, std::string> open(RedisOptions options);
  ~RedisEngine() override;

  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  EngineInfo info() const override { return info_; }
  EngineStats stats() const override;
  EngineCounts counts() const override { return {0, statements_, options_.doubts->size()}; }

 private:
  class Request;  // how an operation on one key is asked and understood
  class Group;    // many of them in one script
  class Sweeper;  // leases that ran out
  class Listing;  // a page of records

  RedisEngine(RedisOptions options, RedisUrl url, EngineInfo info);

  void apply_in_pieces(std::span<Operation* const> batch, RedisDeadline deadline);
  void apply_to_keys(std::span<Operation* const> batch, RedisDeadline deadline);
  void apply_to_many(Operation& operation, RedisDeadline deadline);
  void run_one_by_one(std::span<Request* const> requests, RedisDeadline deadline);
  void run_in_groups(std::span<Request> requests, RedisDeadline deadline);
  enum class GroupKind { reserve, complete, settle };
  std::optional<GroupKind> group_of(const Request& request);
  void find_places(std::span<Request> requests);
  void end_settled(std::span<const Request> requests);
  void take_back(RedisDeadline deadline);

  void reap(Reap& reap, RedisDeadline deadline);
  // What the reaper has to come back for now.
  struct Due {
    std::vector<std::string> ids;  // encoded
    std::string trouble;           // some partitions could not be asked
  };
  Due find_due(std::size_t limit, RedisDeadline deadline);

  RedisCommand command_of(const RedisScript& script, const RedisPartition& partition) const;
  RedisCommand withdrawal_of(const RedisDoubt& doubt) const;
  void run(std::span<RedisCommand> commands, RedisDeadline deadline);

  RedisOptions options_;
  EngineInfo info_;
  RedisKeys keys_;
  RedisScripts scripts_;
  transaction::FenceSource fences_;
  RedisRouter router_;
  TimestampMs caller_now_ = 0;  // only with Clock::caller
  std::size_t first_partition_ = 0;
  bool has_to_take_back_ = false;
  bool has_tombstones_ = false;  // since this engine was opened: settling such is not simple
  std::atomic<std::uint64_t> statements_{0};

  mutable std::mutex stats_mutex_;
  mutable RedisRouter stats_router_;
  mutable EngineStats last_stats_;
};

struct RedisAgreementError {
  std::string message;
};
// A value that all nodes have in common: the first to name one decides.
Result<std::string, RedisAgreementError> agree_in_redis(const RedisOptions& options,
                                                        std::string_view name,
                                                        std::string_view value);

}  // namespace oncekey::store
