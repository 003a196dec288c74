// Identifiers that tie a request's traces together. None of them is a secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey::gateway {

struct Trace {
  std::string traceparent;  // what goes upstream
  bool continued = false;   // the caller's, not begun here
  // Only after begin_spans().
  std::string span_id;    // the request's
  std::string parent_id;  // the caller's; "": the trace begins here
  bool sampled = false;   // somebody wants to see it

  std::string_view trace_id() const { return std::string_view(traceparent).substr(3, 32); }
  // Of the exchange with the upstream, which continues the trace from it.
  std::string_view upstream_span_id() const { return std::string_view(traceparent).substr(36, 16); }
};

// A valid W3C traceparent is kept as it is; otherwise a new trace starts.
Trace keep_or_start_trace(std::optional<std::string_view> traceparent);

// Makes the request a part of its trace that can be exported, instead of passing it by. Whether a
// caller's trace is sampled is the caller's choice; of those that begin here it is `percent`.
void begin_spans(Trace& trace, int percent);

std::string random_uuid();  // version 4

}  // namespace oncekey::gateway
