// GET /v1/events: what happens, as it happens (server-sent events). Lives on the port's loop.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "admin/endpoint.h"
#include "gateway/event_feed.h"
#include "http/loop.h"

namespace oncekey::admin {

class EventsApi {
 public:
  static constexpr std::size_t subscribers_max = 16;
  // What waits for a subscriber that does not read; what comes then is dropped, and counted.
  static constexpr std::size_t waiting_max = 1'000;
  static constexpr http::SteadyMs heartbeat_ms = 10'000;

  EventsApi(http::Loop& loop, gateway::EventFeed& feed);
  ~EventsApi();

  // The endpoints refer to this object.
  std::vector<Endpoint> endpoints();
  // Any thread: every stream ends; the returned count goes to 0 on the loop.
  void close();
  std::size_t under_way() const { return under_way_; }

 private:
  class Subscriber;

  http::Task<void> stream(http::Exchange& exchange, const Call& call);
  void hand_out();

  http::Loop& loop_;
  gateway::EventFeed& feed_;
  std::vector<Subscriber*> subscribers_;
  std::atomic<std::size_t> under_way_{0};
  bool closed_ = false;
};

}  // namespace oncekey::admin
