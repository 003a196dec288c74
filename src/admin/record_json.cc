#include "admin/record_json.h"

#include <openssl/evp.h>

#include <algorithm>

#include "boundary/answer.h"
#include "boundary/ascii.h"
#include "boundary/response_codec.h"
#include "boundary/utf8.h"

namespace oncekey::admin {

namespace {

void write_time(JsonWriter& json, std::string_view name, TimestampMs time) {
  if (time > 0) json.member(name, format_rfc3339(time));
}

void write_text(JsonWriter& json, std::string_view name, const std::string& text) {
  if (!text.empty()) json.member(name, text);
}

void write_members(JsonWriter& json, const Record& record) {
  json.member("tenant", record.id.scope);
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
}

// Bytes that are no text cannot be a JSON string as they are.
std::string base64(std::string_view bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int size = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                   reinterpret_cast<const unsigned char*>(bytes.data()),
                                   static_cast<int>(bytes.size()));
  text.resize(static_cast<std::size_t>(size));
  return text;
}

bool is_text(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

void write_body(JsonWriter& json, const StoredResponse& response) {
  const auto body = unpack_body(response);
  if (!body) {
    json.member("unreadable", body.error().reason);
    return;
  }
  json.member("body_bytes", body->size());
  write_bytes(json, "body", *body);
}

}  // namespace

void write_headers(JsonWriter& json, std::span<const Header> headers) {
  std::vector<Header> merged;
  for (const Header& header : headers) {
    const auto known = std::find_if(merged.begin(), merged.end(), [&](const Header& other) {
      return equals_ignoring_case(other.name, header.name);
    });
    if (known == merged.end()) {
      merged.push_back(header);
    } else {
      known->value.append(", ").append(header.value);
    }
  }
  json.key("headers");
  json.begin_object();
  for (const Header& header : merged) json.member(header.name, header.value);
  json.end_object();
}

void write_bytes(JsonWriter& json, std::string_view name, std::string_view bytes) {
  if (is_text(bytes)) {
    json.member(name, bytes);
  } else {
    json.member(std::string(name) + "_base64", base64(bytes));
  }
}

void write_record(JsonWriter& json, const Record& record) {
  json.begin_object();
  write_members(json, record);
  json.end_object();
}

void write_record_with_answer(JsonWriter& json, const Record& record, bool is_probed,
                              bool with_body) {
  json.begin_object();
  write_members(json, record);
  if (record.state == State::unknown) json.member("probed", is_probed);
  if (record.response) {
    json.key("answer");
    json.begin_object();
    json.member("status", record.response->status);
    write_headers(json, record.response->headers);
    if (with_body) write_body(json, *record.response);
    json.end_object();
  }
  json.end_object();
}

}  // namespace oncekey::admin
