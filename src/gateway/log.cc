#include "gateway/log.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <ctime>

#include "boundary/json_writer.h"
#include "gateway/span_exporter.h"
#include "gateway/trace.h"
#include "http/decimal.h"

namespace oncekey::gateway {

namespace {

constexpr std::size_t buffered_max = 64 << 10;
constexpr std::size_t buffered_events_max = 256;

std::string_view name_of(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return "debug";
    case LogLevel::info:
      return "info";
    case LogLevel::warn:
      return "warn";
    case LogLevel::error:
    case LogLevel::off:
      return "error";
  }
  return "error";
}

// RFC 3339 with milliseconds; the second's text is made once a second.
void append_time(std::string& out) {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  thread_local std::time_t text_second = -1;
  thread_local char text[24];
  thread_local std::size_t text_size = 0;
  if (now.tv_sec != text_second) {
    std::tm parts;
    ::gmtime_r(&now.tv_sec, &parts);
    text_size = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    text_second = now.tv_sec;
  }
  auto ms = static_cast<int>(now.tv_nsec / 1'000'000);
  char fraction[5] = {'.', static_cast<char>('0' + ms / 100), static_cast<char>('0' + ms / 10 % 10),
                      static_cast<char>('0' + ms % 10), 'Z'};
  out.append(text, text_size).append(fraction, sizeof fraction);
}

// A person's line must stay one line whatever a path or key holds.
void append_printable(std::string& out, std::string_view text) {
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    out.push_back(byte < 0x20 || byte == 0x7f ? '?' : c);
  }
}

void append_text_field(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  out.append(" ").append(name).append("=");
  append_printable(out, value);
}

void append_ms(std::string& out, std::string_view name, std::int64_t us) {
  out.append(" ").append(name).append("=");
  http::append_decimal(out, us / 1000);
  out.push_back('.');
  out.push_back(static_cast<char>('0' + us / 100 % 10));
  out.append("ms");
}

void begin(std::string& out, LogFormat format, LogLevel level, std::string_view event) {
  if (format == LogFormat::json) {
    out.append("{\"time\":\"");
    append_time(out);
    out.append("\",\"level\":\"").append(name_of(level));
    out.append("\",\"event\":\"").append(event).append("\"");
  } else {
    append_time(out);
    out.append(" ").append(name_of(level)).append(" ").append(event);
  }
}

void append_event(std::string& line, LogFormat format, LogLevel level, std::string_view event,
                  std::initializer_list<LogField> fields) {
  begin(line, format, level, event);
  for (const LogField& field : fields) {
    if (format == LogFormat::json) {
      line.append(",");
      append_json_string(line, field.name);
      line.append(":");
    } else {
      line.append(" ").append(field.name).append("=");
    }
    if (auto* text = std::get_if<std::string_view>(&field.value)) {
      if (format == LogFormat::json) {
        append_json_string(line, *text);
      } else {
        append_printable(line, *text);
      }
    } else if (auto* number = std::get_if<std::int64_t>(&field.value)) {
      http::append_decimal(line, *number);
    } else {
      line.append(std::get<bool>(field.value) ? "true" : "false");
    }
  }
  if (format == LogFormat::json) line.push_back('}');
}

// The rest of a request's line, behind begin().
void append_request_json(std::string& out, const RequestLine& line) {
  auto text = [&](std::string_view name, std::string_view value) {
    if (value.empty()) return;
    out.append(",\"").append(name).append("\":");
    append_json_string(out, value);
  };
  auto number = [&](std::string_view name, std::int64_t value) {
    out.append(",\"").append(name).append("\":");
    http::append_decimal(out, value);
  };
  text("method", line.method);
  text("path", line.path);
  number("status", line.status);
  text("decision", to_string(line.decision));
  text("outcome", line.outcome);
  if (line.upstream_status > 0) number("upstream_status", line.upstream_status);
  text("key", line.key);
  text("tenant", line.tenant);
  text("route", line.route);
  if (line.attempt > 0) number("attempt", line.attempt);
  text("error", line.error);
  text("instance", line.instance);
  text("trace_id", line.trace_id);
  text("peer", line.peer);
  if (line.client_gone) out.append(",\"client_gone\":true");
  number("total_us", line.total_us);
  if (line.reserve_us > 0) number("reserve_us", line.reserve_us);
  if (line.upstream_us > 0) number("upstream_us", line.upstream_us);
  if (line.settle_us > 0) number("settle_us", line.settle_us);
  out.push_back('}');
}

}  // namespace

Log::Log(LogFormat format, LogLevel level, int fd) : format_(format), level_(level), fd_(fd) {}

void Log::event(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (feed_.wanted()) {
    std::vector<Event> events(1);
    append_event(events[0].json, LogFormat::json, level, event, fields);
    for (const LogField& field : fields) {
      const auto* text = std::get_if<std::string_view>(&field.value);
      if (field.name == "tenant" && text != nullptr) events[0].tenant = *text;
    }
    feed_.publish(events);
  }
  if (!enabled(level)) return;
  std::string line;
  append_event(line, format_, level, event, fields);
  line.push_back('\n');
  write(line);
}

void Log::reconciled(const recovery::Reconciled& reconciled) {
  LogLevel level = reconciled.state == State::unknown ? LogLevel::debug : LogLevel::info;
  if (reconciled.to_operator) level = LogLevel::error;
  event(level, "reconciled",
        {{"key", std::string_view(reconciled.id.key)},
         {"tenant", std::string_view(reconciled.id.scope)},
         {"state", to_string(reconciled.state)},
         {"reason", reconciled.reason}});
}

void Log::append_request(std::string& out, const RequestLine& line) const {
  begin(out, format_, LogLevel::info, "request");
  if (format_ == LogFormat::text) {
    out.append(" ");
    append_printable(out, line.method);
    out.append(" ");
    append_printable(out, line.path);
    out.append(" ");
    http::append_decimal(out, line.status);
    out.append(" ").append(to_string(line.decision));
    append_text_field(out, "outcome", line.outcome);
    append_text_field(out, "key", line.key);
    append_text_field(out, "tenant", line.tenant);
    if (line.attempt > 1) append_text_field(out, "attempt", std::to_string(line.attempt));
    append_text_field(out, "error", line.error);
    append_text_field(out, "instance", line.instance);
    if (line.client_gone) out.append(" client_gone");
    append_ms(out, "total", line.total_us);
    if (line.upstream_us > 0) append_ms(out, "upstream", line.upstream_us);
    out.append("\n");
    return;
  }
  append_request_json(out, line);
  out.push_back('\n');
}

Event Log::request_event(const RequestLine& line) {
  Event event;
  begin(event.json, LogFormat::json, LogLevel::info, "request");
  append_request_json(event.json, line);
  event.tenant = line.tenant;
  event.route = line.route;
  event.decision = to_string(line.decision);
  return event;
}

void Log::write(std::string_view lines) {
  std::lock_guard lock(mutex_);
  while (!lines.empty()) {
    ssize_t written = ::write(fd_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // a log that cannot be written must not stop the service
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

void RequestLog::request(const RequestLine& line) {
  if (log_.feed().wanted()) {
    events_.push_back(Log::request_event(line));
    if (events_.size() >= buffered_events_max) log_.feed().publish(events_);
  }
  if (!log_.enabled(LogLevel::info)) return;
  log_.append_request(lines_, line);
  if (lines_.size() > buffered_max) on_round_end();
}

void RequestLog::request(const RequestLine& line, const Trace& trace) {
  request(line);
  if (trace.span_id.empty() || !trace.sampled) return;
  using namespace std::chrono;
  const auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch());
  log_.spans()->add(make_span(line, trace, now.count()));
}

void RequestLog::begin_spans(Trace& trace) const {
  if (log_.spans()) gateway::begin_spans(trace, log_.spans()->percent());
}

void RequestLog::on_round_end() {
  log_.feed().publish(events_);
  if (lines_.empty()) return;
  log_.write(lines_);
  lines_.clear();
}

}  // namespace oncekey::gateway
