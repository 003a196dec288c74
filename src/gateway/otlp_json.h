// Finished requests as spans, in the JSON form of OTLP over HTTP.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "gateway/decision.h"

namespace oncekey::gateway {

struct RequestLine;
struct Trace;

// What is told about one request. No header, body, query or credential; the key is, as people look
// for it.
struct RequestSpan {
  std::string trace_id;   // 32 hexadecimal digits
  std::string span_id;    // 16
  std::string parent_id;  // 16, or "": the trace begins here
  // Of the exchange with the upstream, a span within the request's; "": there was none.
  std::string upstream_span_id;
  std::int64_t started_unix_us = 0;
  std::int64_t total_us = 0;
  std::int64_t upstream_after_us = 0;  // since the start
  std::int64_t upstream_us = 0;
  std::int64_t reserve_us = 0;
  std::int64_t settle_us = 0;
  std::string method;
  std::string path;
  std::string route;
  std::string key;
  std::string tenant;
  std::string_view decision;
  std::string_view outcome;
  std::string error;
  std::uint32_t attempt = 0;
  int status = 0;
};

RequestSpan make_span(const RequestLine& line, const Trace& trace, std::int64_t ended_unix_us);

// One request's worth of an OTLP collector; `instance` tells this run of this node from others.
std::string otlp_json(std::span<const RequestSpan> spans, std::string_view instance);

}  // namespace oncekey::gateway
