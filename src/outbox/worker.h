// Delivers an outbox: claims what is due, hands it to the sinks, and records what came of it. Two
// threads: the caller's, which alone talks to the queue, and the loop's, which delivers. They hand
// each other batches, so that neither commits nor wake-ups are counted in messages.
//
//   claim (durable) -> deliver -> record (durable)
//
// A worker that dies in between leaves its claims, which run out; another one, or the next, then
// delivers these messages again, with the same ids and keys.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "outbox/deliveries.h"
#include "outbox/queue.h"
#include "outbox/worker_config.h"

namespace oncekey::outbox {

struct WorkerCounts {
  std::uint64_t claimed = 0;
  std::uint64_t delivered = 0;
  std::uint64_t retried = 0;  // failed, and will be tried again
  std::uint64_t dead = 0;
  std::uint64_t released = 0;    // put back untried
  std::uint64_t lost = 0;        // somebody else had taken them over when they were recorded
  std::uint64_t taken_over = 0;  // an earlier claim had run out
};

// Told on the caller's thread, after the fact is durable.
class WorkerObserver {
 public:
  virtual void recorded(const Claimed& claimed, const Outcome& outcome, bool lost) = 0;
  virtual void queue_failed(std::string_view doing, std::string_view error) = 0;
  virtual void queue_recovered() = 0;

 protected:
  ~WorkerObserver() = default;
};

// For the admin port; any thread.
struct WorkerFigures {
  std::atomic<std::uint64_t> claimed{0}, delivered{0}, retried{0}, dead{0}, released{0}, lost{0},
      taken_over{0}, queue_errors{0}, reaped{0}, records{0};
  std::atomic<std::uint64_t> waiting{0}, dead_letters{0}, oldest_age_ms{0}, held{0};
  std::atomic<bool> queue_good{false}, draining{false};
};

class Worker {
 public:
  // Throws std::runtime_error when a sink cannot be made.
  Worker(Queue& queue, WorkerConfig config, const std::vector<SinkConfig>& sinks, UnixSeconds clock,
         WorkerObserver& observer);
  ~Worker();

  // One batch: claims at most `limit`, waits until each has an outcome, records them. A queue that
  // fails is reported, and nothing is claimed.
  WorkerCounts run_once(std::size_t limit);

  // Delivers until stop(). Then what has not begun is put back, what has may finish within `grace`,
  // and the rest is cut off, to be tried again.
  WorkerCounts run(std::chrono::milliseconds grace);
  void stop();  // any thread

  const WorkerFigures& figures() const { return figures_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Group {  // what one claim still holds
    std::unordered_set<MessageId> ids;
    std::shared_ptr<ClaimLease> lease;
    Clock::time_point extend_at;
    bool given_up = false;

    // It ran out for a part, and nobody knows any more which of what waits may be delivered: all
    // of it goes back. What is under way is still extended.
    void give_up();
  };

  std::size_t claim(std::size_t limit);
  bool still_has(const Claimed& claimed);
  bool record();
  void forget(const Outcome& outcome);
  void count(const Finished& finished, bool lost);
  void extend();
  void extend(Claim claim, Group& group);
  void look_after();  // figures, and what is past its retention
  void drain(std::chrono::milliseconds grace);
  // Until something has finished, or stop().
  void rest(std::chrono::milliseconds at_most, bool until_stop = true);
  void wait_for_work(std::size_t claimed, std::size_t asked);
  void receive(std::vector<Finished> finished);  // the loop's thread
  void failed(std::string_view doing, const std::string& error);
  void succeeded();
  std::chrono::milliseconds lease() const { return std::chrono::milliseconds(config_.lease_ms); }

  Queue& queue_;
  WorkerConfig config_;
  WorkerObserver& observer_;
  WorkerFigures figures_;
  WorkerCounts counts_;
  std::size_t held_ = 0;
  std::unordered_map<Claim, Group> groups_;
  std::unordered_map<MessageId, Claim> claim_of_;  // of everything that is held
  std::vector<Finished> recording_;
  Clock::time_point look_after_at_;
  std::chrono::milliseconds trouble_pause_{0};
  int idle_claims_ = 0;

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Finished> finished_;
  bool in_queue_wait_ = false;
  std::atomic<bool> stopping_{false};

  http::Loop loop_;
  std::unique_ptr<Deliveries> deliveries_;
  std::thread thread_;
};

}  // namespace oncekey::outbox
