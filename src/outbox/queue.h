// The outbox as the worker sees it: claims, outcomes, and a wake-up. One implementation for each
// database; a Queue is used by one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncekey/outbox.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::outbox {

// Identifies one claim. A worker that was taken for dead cannot record anything under its old one.
using Claim = std::int64_t;

struct Claimed {
  MessageId id = 0;
  Claim claim = 0;
  std::uint32_t attempt = 0;  // 1: never tried before
  Message message;            // its key is never empty
  TimestampMs created_at = 0;
  std::string provider_id;  // recorded by an earlier attempt; "": none
  bool taken_over = false;  // an earlier claim ran out without an outcome
};

struct Delivered {
  std::string provider_id;  // what the receiver calls it, when it said; kept with the message
};
struct RetryLater {
  std::string error;
  std::chrono::milliseconds after{0};
};
struct DeadLetter {
  std::string error;
};
// Not tried, and the attempt is given back: the worker is stopping, or has too many for a slow
// destination.
struct Released {
  std::chrono::milliseconds after{0};  // not claimed again before this is over
};

struct Outcome {
  MessageId id = 0;
  Claim claim = 0;
  std::variant<Delivered, RetryLater, DeadLetter, Released> what;
};

struct QueueStats {
  std::uint64_t waiting = 0;  // due or not, claimed or not
  std::uint64_t dead = 0;
  std::chrono::milliseconds oldest_age{0};  // of what waits
};

// As an operator sees one message.
struct Entry {
  MessageId id = 0;
  std::string state;  // waiting | claimed | delivered | dead
  Message message;
  std::uint32_t attempt = 0;
  std::string last_error;
  std::string provider_id;
  std::string owner;  // the worker that has claimed it
  TimestampMs created_at = 0;
  TimestampMs due_at = 0;        // not before this is it tried (again)
  TimestampMs delivered_at = 0;  // 0: not yet
};

struct Filter {
  std::string state;        // "": any
  std::string destination;  // "": any
  MessageId after = 0;      // in order of id
  std::size_t limit = 100;  // at most 1000
};

class Queue {
 public:
  virtual ~Queue() = default;

  // Every call either does all of it durably or returns why nothing (or, when the connection broke,
  // perhaps nothing) was done; a later call connects again by itself.
  template <class T>
  using Answer = Result<T, std::string>;

  // Takes messages that are due and nobody holds, and those whose claim has run out. Of one
  // aggregate only the first undelivered, never past a dead one unless it was discarded.
  virtual Answer<std::vector<Claimed>> claim(std::string_view worker, std::size_t limit,
                                             std::chrono::milliseconds lease) = 0;
  // Still alive: extends the claims. Returns how many are still held; nothing was changed for the
  // others, which somebody else has or had by now.
  virtual Answer<std::size_t> extend(std::span<const MessageId> ids, Claim claim,
                                     std::chrono::milliseconds lease) = 0;
  // Records outcomes in one commit. Returns the ids whose claim was no longer held: nothing was
  // changed for these.
  virtual Answer<std::vector<MessageId>> record(std::span<const Outcome> outcomes) = 0;
  // Removes what was delivered before that age, at most so many.
  virtual Answer<std::size_t> reap(std::chrono::milliseconds age, std::size_t limit) = 0;

  // Returns when something may have become due: a notification, the time of the next message, or
  // `at_most`. Also when wake() was called from another thread.
  virtual void wait(std::chrono::milliseconds at_most) = 0;
  virtual void wake() = 0;

  // --- operators ---
  virtual Answer<QueueStats> stats() = 0;
  virtual Answer<std::vector<Entry>> list(const Filter& filter) = 0;
  virtual Answer<std::optional<Entry>> find(MessageId id) = 0;
  // Dead letters wait again, with their attempts at zero. Returns how many.
  virtual Answer<std::size_t> retry(std::span<const MessageId> ids) = 0;
  // Dead letters are removed. Returns how many.
  virtual Answer<std::size_t> discard(std::span<const MessageId> ids) = 0;
};

// `url` is postgres://… or sqlite:PATH. The error is a sentence for operators, without a password.
Result<std::unique_ptr<Queue>, std::string> open_queue(std::string_view url);

}  // namespace oncekey::outbox
