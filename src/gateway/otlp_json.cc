#include "gateway/otlp_json.h"

#include "boundary/json_writer.h"
#include "gateway/log.h"
#include "gateway/trace.h"

namespace oncekey::gateway {
namespace {

// SpanKind and StatusCode of the protocol.
constexpr int kind_server = 2;
constexpr int kind_client = 3;
constexpr int status_error = 2;
constexpr int first_failed_status = 500;

class Attributes {
 public:
  explicit Attributes(JsonWriter& json) : json_(json) {
    json_.key("attributes");
    json_.begin_array();
  }
  ~Attributes() { json_.end_array(); }

  void text(std::string_view name, std::string_view value) {
    if (value.empty()) return;
    begin(name);
    json_.member("stringValue", value);
    end();
  }
  void number(std::string_view name, std::int64_t value) {
    begin(name);
    json_.member("intValue", std::to_string(value));  // 64 bits are a string in this JSON
    end();
  }

 private:
  void begin(std::string_view name) {
    json_.begin_object();
    json_.member("key", name);
    json_.key("value");
    json_.begin_object();
  }
  void end() {
    json_.end_object();
    json_.end_object();
  }

  JsonWriter& json_;
};

void write_times(JsonWriter& json, std::int64_t from_us, std::int64_t length_us) {
  json.member("startTimeUnixNano", std::to_string(from_us * 1'000));
  json.member("endTimeUnixNano", std::to_string((from_us + length_us) * 1'000));
}

void write_status(JsonWriter& json, const RequestSpan& span) {
  if (span.status > 0 && span.status < first_failed_status) return;
  json.key("status");
  json.begin_object();
  json.member("code", status_error);
  if (!span.error.empty()) json.member("message", span.error);
  json.end_object();
}

void write_request(JsonWriter& json, const RequestSpan& span) {
  json.begin_object();
  json.member("traceId", span.trace_id);
  json.member("spanId", span.span_id);
  if (!span.parent_id.empty()) json.member("parentSpanId", span.parent_id);
  json.member("name", span.route.empty() ? span.method : span.route);
  json.member("kind", kind_server);
  write_times(json, span.started_unix_us, span.total_us);
  {
    Attributes attributes(json);
    attributes.text("http.request.method", span.method);
    attributes.text("url.path", span.path);
    attributes.number("http.response.status_code", span.status);
    attributes.text("oncekey.key", span.key);
    attributes.text("oncekey.tenant", span.tenant);
    attributes.text("oncekey.decision", span.decision);
    attributes.text("oncekey.outcome", span.outcome);
    if (span.attempt > 0) attributes.number("oncekey.attempt", span.attempt);
    if (span.reserve_us > 0) attributes.number("oncekey.reserve_us", span.reserve_us);
    if (span.settle_us > 0) attributes.number("oncekey.settle_us", span.settle_us);
  }
  write_status(json, span);
  json.end_object();
}

void write_upstream(JsonWriter& json, const RequestSpan& span) {
  json.begin_object();
  json.member("traceId", span.trace_id);
  json.member("spanId", span.upstream_span_id);
  json.member("parentSpanId", span.span_id);
  json.member("name", "upstream " + span.method);
  json.member("kind", kind_client);
  write_times(json, span.started_unix_us + span.upstream_after_us, span.upstream_us);
  {
    Attributes attributes(json);
    attributes.text("http.request.method", span.method);
    attributes.text("oncekey.key", span.key);
  }
  json.end_object();
}

}  // namespace

RequestSpan make_span(const RequestLine& line, const Trace& trace, std::int64_t ended_unix_us) {
  RequestSpan span;
  span.trace_id = trace.trace_id();
  span.span_id = trace.span_id;
  span.parent_id = trace.parent_id;
  if (line.upstream_us > 0) span.upstream_span_id = trace.upstream_span_id();
  span.started_unix_us = ended_unix_us - line.total_us;
  span.total_us = line.total_us;
  span.upstream_after_us = line.upstream_after_us;
  span.upstream_us = line.upstream_us;
  span.reserve_us = line.reserve_us;
  span.settle_us = line.settle_us;
  span.method = line.method;
  span.path = line.path;
  span.route = line.route;
  span.key = line.key;
  span.tenant = line.tenant;
  span.decision = to_string(line.decision);
  span.outcome = line.outcome;
  span.error = line.error;
  span.attempt = line.attempt;
  span.status = line.status;
  return span;
}

std::string otlp_json(std::span<const RequestSpan> spans, std::string_view instance) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.key("resourceSpans");
  json.begin_array();
  json.begin_object();
  json.key("resource");
  json.begin_object();
  {
    Attributes attributes(json);
    attributes.text("service.name", "oncekey");
    attributes.text("service.instance.id", instance);
  }
  json.end_object();
  json.key("scopeSpans");
  json.begin_array();
  json.begin_object();
  json.key("scope");
  json.begin_object();
  json.member("name", "oncekey");
  json.end_object();
  json.key("spans");
  json.begin_array();
  for (const RequestSpan& span : spans) {
    write_request(json, span);
    if (!span.upstream_span_id.empty()) write_upstream(json, span);
  }
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace oncekey::gateway
