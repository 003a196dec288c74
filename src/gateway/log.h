// Log lines on standard error: one JSON object a line, or text for people. Lines of one round of a
// loop leave in one write. Header values, bodies, queries and credentials never get here.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>

#include "gateway/config.h"
#include "gateway/decision.h"
#include "gateway/event_feed.h"
#include "http/loop.h"
#include "recovery/reconciler.h"

namespace oncekey::gateway {

class SpanExporter;
struct Trace;

struct LogField {
  std::string_view name;
  std::variant<std::string_view, std::int64_t, bool> value;
};

struct RequestLine {
  std::string_view method;
  std::string_view path;  // without the query
  std::string_view key;
  std::string_view tenant;
  std::string_view route;  // its match
  std::string_view trace_id;
  std::string_view peer;
  Decision decision = Decision::passed;
  std::string_view outcome;   // executed only: completed, failed_retryable, unknown
  std::string_view instance;  // of the gateway's own answer, as the client was told
  std::string_view error;     // why, when something went wrong
  std::uint32_t attempt = 0;
  int status = 0;
  int upstream_status = 0;  // of an answer that is not on record; 0: none
  bool client_gone = false;
  std::int64_t total_us = 0;
  std::int64_t reserve_us = 0;
  std::int64_t upstream_after_us = 0;  // when it began, since the request did
  std::int64_t upstream_us = 0;
  std::int64_t settle_us = 0;
};

// Shared by all threads; events are rare and written at once.
class Log {
 public:
  Log(LogFormat format, LogLevel level, int fd = 2);

  bool enabled(LogLevel level) const { return level >= level_.load(std::memory_order_relaxed); }
  void set_level(LogLevel level) { level_ = level; }  // any thread
  void event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);
  void reconciled(const recovery::Reconciled& reconciled);
  void append_request(std::string& out, const RequestLine& line) const;
  void write(std::string_view lines);

  // Where requests go as spans; null: nowhere. Set before the first request, and outlives the last.
  void set_spans(SpanExporter* spans) { spans_ = spans; }
  SpanExporter* spans() const { return spans_; }

  // The same, live and always as JSON, for whoever listens.
  EventFeed& feed() { return feed_; }
  static Event request_event(const RequestLine& line);

 private:
  LogFormat format_;
  std::atomic<LogLevel> level_;
  int fd_;
  std::mutex mutex_;
  EventFeed feed_;
  SpanExporter* spans_ = nullptr;
};

// One loop's request lines.
class RequestLog final : private http::Loop::RoundEnd {
 public:
  RequestLog(http::Loop& loop, Log& log) : log_(log) { loop.add_round_end(*this); }

  void request(const RequestLine& line);
  void request(const RequestLine& line, const Trace& trace);  // also as a span, if it is sampled
  void begin_spans(Trace& trace) const;                       // where spans are wanted at all
  void flush() { on_round_end(); }

 private:
  void on_round_end() override;

  Log& log_;
  std::string lines_;
  std::vector<Event> events_;
};

}  // namespace oncekey::gateway
