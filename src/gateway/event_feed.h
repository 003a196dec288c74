// What happens, for whoever wants to watch it live. Requests hand events over in pieces, a round of
// their loop at a time, into a bounded hand-over: what it has no room for is dropped and counted,
// so that a slow watcher never holds up a request. While nobody listens an event costs one look at
// a flag.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace oncekey::gateway {

struct Event {
  std::string json;      // one object, without bodies, header values or credentials
  std::string tenant;    // "": it is about none
  std::string route;     // the route's match; "": none
  std::string decision;  // of a request; "": it is another event
};

class EventFeed {
 public:
  static constexpr std::size_t handover_max = 8'192;  // events that wait to be taken

  // Any thread.
  bool wanted() const { return wanted_.load(std::memory_order_relaxed); }
  // Gives `events` away; empty afterwards. The lock is held only while they are moved. Any thread.
  void publish(std::vector<Event>& events);

  struct Taken {
    std::vector<Event> events;
    std::uint64_t dropped = 0;  // since the last time
  };
  // One listener. `wake` is called on any thread when there is something to take, and not again
  // before take(); it must be quick. Empty: nobody listens any more.
  void listen(std::function<void()> wake);
  void want(bool wanted);
  Taken take();

 private:
  std::atomic<bool> wanted_{false};
  std::mutex mutex_;
  std::vector<Event> waiting_;
  std::uint64_t dropped_ = 0;
  bool woken_ = false;
  std::function<void()> wake_;
};

}  // namespace oncekey::gateway
