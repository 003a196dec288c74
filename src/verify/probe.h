// What a check works with. Every request goes through here, so that none is sent beyond the stated
// number and each appears in the report.
#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "verify/message.h"
#include "verify/operation.h"
#include "verify/subject.h"
#include "verify/transport.h"

namespace oncekey::verify {

// Polling for a final answer: often enough for a test, long enough for a slow API.
inline constexpr int polls_max = 25;
inline constexpr DurationMs poll_pause_ms = 200;

struct RequestsSpent : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Probe {
 public:
  explicit Probe(const Subject& subject);

  const Subject& subject() const { return subject_; }
  const Expectations& expected() const { return subject_.expected; }

  // A check begins: it may send so many requests. What it sends is in trace() until the next.
  void begin(int requests_max);
  const std::vector<Exchange>& trace() const { return trace_; }
  int sent() const { return sent_; }

  Operation new_operation();
  // Another operation under the same key.
  Operation other_operation(const Operation& operation);

  Request request(const Operation& operation, std::string what) const;
  Request slow_request(const Operation& operation, std::string what) const;
  // The same request, to another node.
  Request on(Node node, const Operation& operation, Request request) const;

  Answer send(const Request& request);
  std::vector<Answer> send_together(const std::vector<Request>& requests);
  // Repeats the request until the answer is not "still running".
  Answer send_until_final(const Request& request);
  std::string leave(const Request& request, Leaving leaving);

  // A request that goes on while others are sent; finish() gives its answer.
  class Running {
   public:
    bool done() const;
    Answer finish() { return answer_.get(); }

   private:
    friend class Probe;
    std::future<Answer> answer_;
    std::size_t place_ = 0;
  };
  Running start(const Request& request);
  Answer finish(Running& running);
  void give_head_start() const;
  void wait(DurationMs duration) const;

  // How many effects can be seen of these; nothing: no way to count, or it did not work.
  std::optional<std::int64_t> effects(const std::vector<Operation>& operations,
                                      Caller caller = Caller::tenant);
  std::string id_of(const Answer& answer) const;

  // The pair that all comparisons of a replay with its original use; sent when first asked for, and
  // shown in the trace of each check that uses it.
  struct Pair {
    Operation operation;
    Answer first;
    Answer retry;
    std::optional<std::int64_t> effects;
    std::vector<Exchange> trace;
  };
  const Pair& pair();

 private:
  void spend(int count);
  std::string key_line(const std::string& key) const;

  const Subject& subject_;
  std::uint64_t last_number_ = 0;
  int sent_ = 0;
  int left_ = 0;
  std::vector<Exchange> trace_;
  std::optional<Pair> pair_;
};

// Counts what happens between its making and grown().
class Meter {
 public:
  Meter(Probe& probe, std::vector<Operation> operations, Caller caller = Caller::tenant);
  std::optional<std::int64_t> grown();

 private:
  Probe& probe_;
  const std::vector<Operation> operations_;
  const Caller caller_;
  const std::optional<std::int64_t> before_;
};

// A list that is paged, for one, stops growing.
inline constexpr std::string_view nothing_counted =
    "no effect was counted, though the answers say that there is one; is the list paged?";

// What shows that one operation was executed more than once; "": nothing does.
std::string signs_of_repetition(const Probe& probe, std::optional<std::int64_t> effects,
                                const std::vector<Answer>& answers);

}  // namespace oncekey::verify
