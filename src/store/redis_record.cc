#include "store/redis_record.h"

#include <algorithm>
#include <utility>

#include "boundary/history.h"
#include "oncekey/assert.h"
#include "store/bytes.h"
#include "store/record_codec.h"
#include "store/redis_command.h"

namespace oncekey::store {
namespace {

constexpr std::uint8_t layout = 1;
constexpr std::uint8_t layout_with_history = 2;
constexpr std::size_t head_size = 86;

// The scripts' fixed-size numbers are little-endian.
std::uint64_t read_number(ByteReader& in, std::size_t size) {
  std::uint64_t number = 0;
  const std::string_view bytes = in.raw(size);
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

std::int64_t read_time(ByteReader& in) {
  return static_cast<std::int64_t>(read_number(in, 6));
}

void append_number(std::string& out, std::uint64_t number, std::size_t size) {
  char bytes[8];
  for (std::size_t i = 0; i < size; ++i, number >>= 8) bytes[i] = static_cast<char>(number);
  out.append(bytes, size);
}

void append_fence(std::string& out, Fence fence) {
  char bytes[8];
  for (std::size_t i = sizeof bytes; i-- > 0; fence >>= 8) bytes[i] = static_cast<char>(fence);
  out.append(bytes, sizeof bytes);
}

void append_fingerprint(std::string& out, const Fingerprint& fingerprint) {
  out.push_back(static_cast<char>(fingerprint.version));
  out.append(fingerprint.digest.begin(), fingerprint.digest.end());
}

void append_start_in_progress(std::string& out, Fence fence) {
  out.push_back(static_cast<char>(layout));
  out.push_back(static_cast<char>(State::in_progress));
  append_fence(out, fence);
}

bool is_state(std::uint8_t number) {
  return number >= static_cast<std::uint8_t>(State::in_progress) &&
         number <= static_cast<std::uint8_t>(State::expired);
}

}  // namespace

std::string redis_fence(Fence fence) {
  std::string bytes;
  append_fence(bytes, fence);
  return bytes;
}

std::string redis_fingerprint(const Fingerprint& fingerprint) {
  std::string bytes;
  append_fingerprint(bytes, fingerprint);
  return bytes;
}

std::string redis_request(const Reserve& reserve) {
  std::string bytes;
  bytes.reserve(reserve.method.size() + reserve.path.size() + reserve.owner.size() + 8);
  ByteWriter out(bytes);
  out.text(reserve.method);
  out.text(reserve.path);
  out.text(reserve.owner);
  return bytes;
}

std::string redis_start_in_progress(Fence fence) {
  std::string bytes;
  append_start_in_progress(bytes, fence);
  return bytes;
}

std::string redis_new_record(const Reserve& reserve, Fence fence) {
  const std::string request = redis_request(reserve);
  std::string bytes;
  bytes.reserve(head_size + request.size());
  append_start_in_progress(bytes, fence);
  append_fingerprint(bytes, reserve.fingerprint);
  append_number(bytes, 1, 4);  // attempt
  append_number(bytes, static_cast<std::uint64_t>(reserve.retention_ms), 6);
  append_number(bytes, static_cast<std::uint64_t>(reserve.tombstone_ms), 6);
  ONCEKEY_ASSERT(bytes.size() == redis_created_at);
  bytes.append(3 * redis_time_size, '\0');
  append_number(bytes, request.size(), 3);
  append_number(bytes, 0, 6);  // neither a recovery point nor an error
  bytes += request;
  return bytes;
}

std::string redis_completed_record(std::string_view in_progress, std::string_view answer) {
  std::string bytes;
  bytes.reserve(in_progress.size() + answer.size());
  bytes += in_progress;
  bytes[1] = static_cast<char>(State::completed);
  bytes += answer;
  return bytes;
}

bool is_about_record(std::string_view error) {
  return error.find("a record of a later version") != error.npos;
}

std::optional<Record> decode_redis_record(std::string_view value, const RecordId& id) {
  ByteReader in(value);
  const std::uint8_t number = in.byte();
  if (number != layout && number != layout_with_history) return {};
  const std::uint8_t state = in.byte();
  if (!is_state(state)) return {};
  Record record;
  record.id = id;
  record.state = static_cast<State>(state);
  for (const char c : in.raw(8)) record.fence = record.fence << 8 | static_cast<unsigned char>(c);
  record.fingerprint.version = in.byte();
  const std::string_view digest = in.raw(record.fingerprint.digest.size());
  std::copy(digest.begin(), digest.end(), record.fingerprint.digest.begin());
  record.attempt = static_cast<std::uint32_t>(read_number(in, 4));
  record.retention_ms = read_time(in);
  record.tombstone_ms = read_time(in);
  record.created_at = read_time(in);
  const TimestampMs since = read_time(in);
  record.expires_at = read_time(in);
  if (record.state == State::in_progress) record.locked_until = since;
  if (record.state == State::unknown) record.reconcile_after = since;
  if (record.state == State::completed || record.state == State::expired) {
    record.completed_at = since;
  }
  const std::size_t request_size = read_number(in, 3);
  const std::size_t recovery_size = read_number(in, 3);
  const std::size_t error_size = read_number(in, 3);
  const std::size_t history_size = number == layout_with_history ? read_number(in, 3) : 0;
  ByteReader request(in.raw(request_size));
  record.method = request.text();
  record.path = request.text();
  record.owner = request.text();
  record.recovery_point = in.raw(recovery_size);
  record.last_error = in.raw(error_size);
  auto history = decode_history(in.raw(history_size));
  if (!history) return {};
  record.history = std::move(*history);
  if (!in.ok() || !request.ok()) return {};
  if (record.state == State::completed && !in.at_end()) {
    record.response = decode_response(in.rest());
    if (record.response == nullptr) return {};
  }
  return record;
}

}  // namespace oncekey::store
