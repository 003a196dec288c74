// Group commit: many submitters, few engines, one sync for everything that arrived meanwhile.
//
// Operations that arrive while a batch is being made durable wait in a queue and become the next
// batch. So under load a sync is shared by many, and without load an operation starts at once.
// A store with two engines (lanes) has two batches under way, one of settlements and one of
// everything else: each kind gathers while its own lane is busy, so batches stay large, and a batch
// of one kind waits for nothing that a batch of the other kind does. Operations that are under way
// at the same time may then be executed in any order. This is the only place of the store that
// knows of threads.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "oncekey/store.h"
#include "store/breaker.h"
#include "store/write_watch.h"

namespace oncekey::store {

class Mailbox;

// One operation under way. It lives in its submitter, which must keep it alive and leave it alone
// from submit() until its mailbox delivers it; then operation.outcome is filled.
struct Ticket {
  Operation operation;
  Mailbox* reply_to = nullptr;
  void* context = nullptr;  // the submitter's own; the committer does not look at it
  Ticket* next = nullptr;   // the committer's while under way; on delivery, the rest of the chain
};

// Where finished tickets go: usually one per I/O thread.
class Mailbox {
 public:
  virtual ~Mailbox() = default;

  // Called on a committer's thread, once for each batch that held tickets of this mailbox, with
  // all of them in the order of submission, linked by `next`; or on a submitter's, when they are
  // refused because too many wait. Must be quick and must not throw: the next batch waits for it.
  // Read `next` before the ticket's owner is resumed.
  virtual void deliver(Ticket* chain) = 0;
};

struct CommitterOptions {
  // More operations than this wait for the next batch, so that one batch stays within milliseconds.
  std::size_t batch_operations_max = 1024;
  // While this many wait, more are refused as Unavailable: a store that hangs must not fill the
  // memory with operations that nobody waits for any longer.
  std::size_t queue_operations_max = 65'536;
  // For stores that can go away and come back. While it is open, operations are refused as
  // Unavailable without touching an engine. Outlives the committer; null: every batch is tried.
  Breaker* breaker = nullptr;
  // Sees what came of each batch, where there is a breaker. Outlives the committer, too.
  WriteWatch* writes = nullptr;
};

struct CommitterStats {
  std::uint64_t batches = 0;     // that an engine was given
  std::uint64_t operations = 0;  // in those
  std::uint64_t refused = 0;     // operations that no engine was given
  std::uint64_t batch_operations_largest = 0;
  std::uint64_t queue_depth = 0;  // submitted, not yet part of a batch
  std::uint64_t busy_us = 0;      // time spent in the engine, all batches together
  std::uint64_t batch_us_largest = 0;
};

class Committer {
 public:
  // One engine or two, which must outlive the committer; each is used by one thread of it only.
  // `clock` is read once for each batch.
  Committer(std::vector<Engine*> lanes, std::function<TimestampMs()> clock,
            CommitterOptions options = {});
  Committer(Engine& engine, std::function<TimestampMs()> clock, CommitterOptions options = {});

  // Finishes and delivers everything that was submitted, then joins. Nothing may be submitted any
  // more; mailboxes must live until it returns.
  ~Committer();

  Committer(const Committer&) = delete;
  Committer& operator=(const Committer&) = delete;

  // From any thread. The ticket's reply_to must be set.
  void submit(Ticket& ticket);

  // Several at once, linked by `next`: one lock and at most one wake-up.
  void submit_chain(Ticket* chain);

  // For tools and tests: returns when the outcome is there. Not from a mailbox.
  void apply_now(Operation& operation);

  CommitterStats stats() const;

 private:
  struct Delivery {
    Mailbox* mailbox;
    Ticket* head;
    Ticket* tail;
  };

  // An engine, its thread, and the operations that wait for it.
  struct Lane {
    Engine* engine;
    Ticket* head = nullptr;
    Ticket* tail = nullptr;
    bool idle = false;  // only then does a submitter have to wake the thread
    std::condition_variable work_arrived;
    std::thread thread;
  };

  Lane& lane_of(const Operation& operation);
  void run(Lane& lane);
  Ticket* take_batch(Lane& lane, std::vector<Operation*>& operations);
  std::chrono::steady_clock::duration apply(Engine& engine,
                                            const std::vector<Operation*>& operations);
  void apply_through(Breaker& breaker, Engine& engine, const std::vector<Operation*>& batch);
  void refuse_overflow(Ticket* chain);
  static void deliver(Ticket* chain, std::vector<Delivery>& deliveries);

  const std::function<TimestampMs()> clock_;
  const CommitterOptions options_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // one, or two: the second has the settlements
  bool stopping_ = false;
  CommitterStats stats_;
};

}  // namespace oncekey::store
