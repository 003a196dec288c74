// Identifiers that tie a request's traces together. None of them is a secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey::gateway {

struct Trace {
  std::string traceparent;  // what goes upstream

  std::string_view trace_id() const { return std::string_view(traceparent).substr(3, 32); }
};

// A valid W3C traceparent is kept as it is; otherwise a new trace starts.
Trace keep_or_start_trace(std::optional<std::string_view> traceparent);

std::string random_uuid();  // version 4

}  // namespace oncekey::gateway
