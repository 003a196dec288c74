#include "store/record_codec.h"

#include <algorithm>
#include <utility>

#include "boundary/history.h"
#include "oncekey/assert.h"
#include "store/bytes.h"

namespace oncekey::store {
namespace {

// A record without history is written as earlier builds wrote every record.
constexpr std::uint8_t layout = 1;
constexpr std::uint8_t layout_with_history = 2;

constexpr char escaped = '\0';
constexpr char escaped_zero = '\xff';
constexpr char end_of_scope = '\x01';

std::uint64_t unsigned_of(std::int64_t value) {
  ONCEKEY_ASSERT(value >= 0);
  return static_cast<std::uint64_t>(value);
}

std::int64_t time_of(ByteReader& in) {
  return static_cast<std::int64_t>(in.number());
}

void append_fingerprint(ByteWriter& out, const Fingerprint& fingerprint) {
  out.byte(fingerprint.version);
  out.raw({reinterpret_cast<const char*>(fingerprint.digest.data()), fingerprint.digest.size()});
}

Fingerprint read_fingerprint(ByteReader& in) {
  Fingerprint fingerprint;
  fingerprint.version = in.byte();
  const std::string_view digest = in.raw(fingerprint.digest.size());
  std::copy(digest.begin(), digest.end(), fingerprint.digest.begin());
  return fingerprint;
}

void append_words(ByteWriter& out, const Record& record) {
  out.text(record.method);
  out.text(record.path);
  out.text(record.owner);
  out.text(record.recovery_point);
  out.text(record.last_error);
}

void read_words(ByteReader& in, Record& record) {
  record.method = in.text();
  record.path = in.text();
  record.owner = in.text();
  record.recovery_point = in.text();
  record.last_error = in.text();
}

std::uint8_t layout_of(const Record& record) {
  return record.history.empty() ? layout : layout_with_history;
}

bool is_known(std::uint8_t number) {
  return number == layout || number == layout_with_history;
}

void append_past(ByteWriter& out, const Record& record) {
  if (!record.history.empty()) out.text(encode_history(record.history));
}

bool read_past(ByteReader& in, std::uint8_t number, Record& record) {
  if (number != layout_with_history) return true;
  auto history = decode_history(in.text());
  if (history) record.history = std::move(*history);
  return history.has_value();
}

void append_response(ByteWriter& out, const StoredResponse& response) {
  out.number(response.schema_version);
  out.number(unsigned_of(response.status));
  out.byte(static_cast<std::uint8_t>(response.body_encoding));
  out.number(response.headers.size());
  for (const Header& header : response.headers) {
    out.text(header.name);
    out.text(header.value);
  }
  out.raw(response.body);
}

std::shared_ptr<const StoredResponse> read_response(ByteReader& in) {
  auto response = std::make_shared<StoredResponse>();
  response->schema_version = static_cast<std::uint8_t>(in.number());
  if (response->schema_version != StoredResponse::current_schema_version) {
    in.rest();  // a later build's; the version tells the caller that it cannot be served
    return response;
  }
  response->status = static_cast<int>(in.number());
  response->body_encoding = static_cast<BodyEncoding>(in.byte());
  for (std::uint64_t left = in.number(); left > 0 && in.ok(); --left) {
    Header header;
    header.name = in.text();
    header.value = in.text();
    response->headers.push_back(std::move(header));
  }
  response->body = in.rest();
  return response;
}

}  // namespace

void append_id(std::string& out, const RecordId& id) {
  out.reserve(out.size() + id.scope.size() + 2 + id.key.size());
  std::string_view scope = id.scope;
  for (std::size_t at = scope.find(escaped); at != scope.npos; at = scope.find(escaped)) {
    out.append(scope, 0, at + 1).push_back(escaped_zero);
    scope.remove_prefix(at + 1);
  }
  out.append(scope);
  out.push_back(escaped);
  out.push_back(end_of_scope);
  out.append(id.key);
}

std::optional<RecordId> decode_id(std::string_view bytes) {
  RecordId id;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != escaped) {
      id.scope.push_back(bytes[i]);
      continue;
    }
    if (++i == bytes.size()) return {};
    if (bytes[i] == end_of_scope) {
      id.key = bytes.substr(i + 1);
      return id;
    }
    if (bytes[i] != escaped_zero) return {};
    id.scope.push_back(escaped);
  }
  return {};
}

void append_open(std::string& out, const Record& record) {
  ByteWriter writer(out);
  writer.byte(layout_of(record));
  writer.byte(static_cast<std::uint8_t>(record.state));
  writer.text(record.id.scope);
  writer.text(record.id.key);
  append_fingerprint(writer, record.fingerprint);
  writer.number(record.attempt);
  writer.number(record.fence);
  writer.number(unsigned_of(record.retention_ms));
  writer.number(unsigned_of(record.tombstone_ms));
  writer.number(unsigned_of(record.created_at));
  writer.number(unsigned_of(record.locked_until));
  writer.number(unsigned_of(record.reconcile_after));
  writer.number(unsigned_of(record.expires_at));
  append_words(writer, record);
  append_past(writer, record);
}

std::optional<Record> decode_open(std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint8_t number = in.byte();
  if (!is_known(number)) return {};
  Record record;
  record.state = static_cast<State>(in.byte());
  record.id.scope = in.text();
  record.id.key = in.text();
  record.fingerprint = read_fingerprint(in);
  record.attempt = static_cast<std::uint32_t>(in.number());
  record.fence = in.number();
  record.retention_ms = time_of(in);
  record.tombstone_ms = time_of(in);
  record.created_at = time_of(in);
  record.locked_until = time_of(in);
  record.reconcile_after = time_of(in);
  record.expires_at = time_of(in);
  read_words(in, record);
  if (!read_past(in, number, record)) return {};
  const bool open = record.state == State::in_progress || record.state == State::failed_retryable ||
                    record.state == State::unknown;
  if (!in.ok() || !in.at_end() || !open) return {};
  return record;
}

void append_completed(std::string& out, const Record& record) {
  ONCEKEY_ASSERT(record.state == State::completed);
  ByteWriter writer(out);
  writer.byte(layout_of(record));
  writer.number(unsigned_of(record.completed_at));
  writer.number(unsigned_of(record.expires_at - record.completed_at));
  writer.number(unsigned_of(record.tombstone_ms));
  append_fingerprint(writer, record.fingerprint);
  writer.number(record.attempt);
  writer.number(record.fence);
  writer.number(unsigned_of(record.retention_ms));
  writer.number(unsigned_of(std::max<TimestampMs>(0, record.completed_at - record.created_at)));
  append_words(writer, record);
  append_past(writer, record);
  writer.byte(record.response == nullptr ? 0 : 1);
  if (record.response != nullptr) append_response(writer, *record.response);
}

std::optional<Record> decode_completed(std::string_view bytes) {
  ByteReader in(bytes);
  const std::uint8_t number = in.byte();
  if (!is_known(number)) return {};
  Record record;
  record.state = State::completed;
  record.completed_at = time_of(in);
  record.expires_at = record.completed_at + time_of(in);
  record.tombstone_ms = time_of(in);
  record.fingerprint = read_fingerprint(in);
  record.attempt = static_cast<std::uint32_t>(in.number());
  record.fence = in.number();
  record.retention_ms = time_of(in);
  record.created_at = record.completed_at - time_of(in);
  read_words(in, record);
  if (!read_past(in, number, record)) return {};
  if (in.byte() != 0) record.response = read_response(in);
  if (!in.ok() || !in.at_end()) return {};
  return record;
}

void append_tombstone(std::string& out, const Record& completed) {
  ByteWriter writer(out);
  writer.byte(layout);
  writer.number(unsigned_of(completed.completed_at));
  writer.number(unsigned_of(completed.expires_at - completed.completed_at));
  writer.number(unsigned_of(completed.tombstone_ms));
  append_fingerprint(writer, completed.fingerprint);
}

std::optional<Tombstone> decode_tombstone(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.byte() != layout) return {};
  Tombstone tombstone;
  Record& record = tombstone.record;
  record.state = State::expired;
  record.completed_at = time_of(in);
  tombstone.valid_from = record.completed_at + time_of(in);
  record.tombstone_ms = time_of(in);
  record.expires_at = tombstone.valid_from + record.tombstone_ms;
  record.fingerprint = read_fingerprint(in);
  if (!in.ok() || !in.at_end()) return {};
  return tombstone;
}

void append_response(std::string& out, const StoredResponse& response) {
  constexpr std::size_t length_size = 2;  // of nearly every name and value
  std::size_t size = response.body.size() + 8;
  for (const Header& header : response.headers) {
    size += header.name.size() + header.value.size() + 2 * length_size;
  }
  out.reserve(out.size() + size);
  ByteWriter writer(out);
  append_response(writer, response);
}

std::shared_ptr<const StoredResponse> decode_response(std::string_view bytes) {
  ByteReader in(bytes);
  auto response = read_response(in);
  return in.ok() ? response : nullptr;
}

std::optional<TimestampMs> completed_expiry(std::string_view bytes) {
  ByteReader in(bytes);
  if (!is_known(in.byte())) return {};
  const TimestampMs completed_at = time_of(in);
  const TimestampMs expires_at = completed_at + time_of(in);
  if (!in.ok()) return {};
  return expires_at;
}

std::optional<TimestampMs> tombstone_expiry(std::string_view bytes) {
  ByteReader in(bytes);
  if (in.byte() != layout) return {};
  const TimestampMs completed_at = time_of(in);
  const TimestampMs valid_from = completed_at + time_of(in);
  const TimestampMs expires_at = valid_from + time_of(in);
  if (!in.ok()) return {};
  return expires_at;
}

}  // namespace oncekey::store
