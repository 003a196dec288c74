#include "admin/record_json.h"

#include "boundary/answer.h"

namespace oncekey::admin {

namespace {

void write_time(JsonWriter& json, std::string_view name, TimestampMs time) {
  if (time > 0) json.member(name, format_rfc3339(time));
}

void write_text(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.member(name, text);
}

}  // namespace

void write_record(JsonWriter& json, const Record& record) {
  json.begin_object();
  json.member("scope", record.id.scope);
  json.member("key", record.id.key);
  json.member("state", to_string(record.state));
  json.member("attempt", record.attempt);
  json.member("fence", record.fence);
  write_text(json, "method", record.method);
  write_text(json, "path", record.path);
  write_text(json, "owner", record.owner);
  write_text(json, "recovery_point", record.recovery_point);
  write_text(json, "last_error", record.last_error);
  if (record.response) {
    json.member("response_status", record.response->status);
    json.member("response_stored_bytes", record.response->body.size());
  }
  write_time(json, "created_at", record.created_at);
  if (record.state == State::in_progress) write_time(json, "locked_until", record.locked_until);
  if (record.state == State::unknown) write_time(json, "reconcile_after", record.reconcile_after);
  write_time(json, "completed_at", record.completed_at);
  write_time(json, "expires_at", record.expires_at);
  json.end_object();
}

}  // namespace oncekey::admin
