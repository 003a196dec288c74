// `Prefer: respond-async` (RFC 7240, SPEC W7): the client is told where to look, and the attempt
// goes on without it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "gateway/attempt.h"

namespace oncekey::gateway {

// Whether the answer may come later. Empty: the client waits for it, as usual. Otherwise how long
// it is kept waiting first (`Prefer: wait=N`); 0: not at all.
struct AsyncWish {
  std::optional<DurationMs> patience_ms;
  bool preferred = false;  // asked for by the client, not only by the route
};
AsyncWish async_wish(const http::RequestHead& head, const RouteConfig& route);

// An attempt that needs nothing of the exchange that started it.
struct LaterAttempt {
  const Context& context;
  const RouteConfig& route;
  RecordId id;
  Execute hold;
  std::string head;  // as it goes upstream
  std::string method;
  std::string body;
  std::int64_t lease_over_us = 0;

  Attempt attempt;  // once it is done
  bool done = false;
  bool watched = false;  // whoever watches does the rest when it is done
};

// Starts it on this loop. A shutdown waits for it as for any request.
void start_later(std::shared_ptr<LaterAttempt> later);

// True: done in time, and the attempt is the caller's to answer.
http::Task<bool> wait_for_later(LaterAttempt& later, DurationMs patience_ms);

}  // namespace oncekey::gateway
