// The outbox of a PostgreSQL database: oncekey.outbox, as oncekey.enqueue() and
// Transaction::enqueue() write it.
//
// A claim is a number and the time at which it runs out, by the database's clock. An idle worker is
// woken by a notification when the writer's transaction commits; see oncekey.outbox_lock() in
// store/sql/0004_outbox.sql for who notifies whom, and why not always.
#pragma once

#include <chrono>
#include <set>
#include <string>

#include "outbox/queue.h"
#include "outbox/wake_signal.h"
#include "store/postgres_session.h"

namespace oncekey::outbox {

class PostgresQueue final : public Queue {
 public:
  // Connects, and refuses a database whose schema this build does not know.
  static Result<std::unique_ptr<Queue>, std::string> open(const std::string& url);

  explicit PostgresQueue(std::string url);

  Answer<std::vector<Claimed>> claim(std::string_view worker, std::size_t limit,
                                     std::chrono::milliseconds lease) override;
  Answer<std::size_t> extend(std::span<const MessageId> ids, Claim claim,
                             std::chrono::milliseconds lease) override;
  Answer<std::vector<MessageId>> record(std::span<const Outcome> outcomes) override;
  Answer<std::size_t> reap(std::chrono::milliseconds age, std::size_t limit) override;

  void wait(std::chrono::milliseconds at_most) override;
  void wake() override { wake_signal_.send(); }

  Answer<QueueStats> stats() override;
  Answer<std::vector<Entry>> list(const Filter& filter) override;
  Answer<std::optional<Entry>> find(MessageId id) override;
  Answer<std::size_t> retry(std::span<const MessageId> ids) override;
  Answer<std::size_t> discard(std::span<const MessageId> ids) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Rows = Result<store::PostgresResult, store::PostgresError>;

  // Ready for LISTEN's notifications.
  Result<store::PostgresConnection*, store::PostgresError> connection(Clock::time_point deadline);
  Rows call(const std::string& name, std::string_view sql,
            const store::PostgresParameters& parameters);
  Answer<std::vector<Entry>> entries(const std::string& name, const std::string& sql,
                                     const store::PostgresParameters& parameters);
  // Adds to `messages`; false: the round through the aggregates has not come to its end.
  Result<bool, store::PostgresError> claim_some(std::vector<Claimed>& messages,
                                                std::string_view worker, std::size_t limit,
                                                std::chrono::milliseconds lease);
  Answer<std::size_t> change_dead(const std::string& name, const std::string& sql,
                                  std::span<const MessageId> ids);
  void drop();
  Clock::time_point next_due(Clock::time_point at_most);
  void pause(Clock::time_point until);

  store::PostgresSession session_;
  WakeSignal wake_signal_;
  bool listening_ = false;
  std::uint64_t sessions_lost_ = 0;
  bool asleep_ = false;                   // holds the lock that makes writers notify
  std::string aggregate_;                 // that was visited last, as PostgreSQL's text
  std::multiset<Clock::time_point> due_;  // when what was put off here is due again
  // The last claim: when it began, and its moment as the server says it.
  Clock::time_point looked_{};
  std::string looked_at_;
};

}  // namespace oncekey::outbox
