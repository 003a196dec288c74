// What Oncekey remembers of one key. Plain values: copy them, compare them, print them.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace oncekey {

// Milliseconds since the Unix epoch, and a length of time in milliseconds.
using TimestampMs = std::int64_t;
using DurationMs = std::int64_t;

// Identifies one owner's hold on a record. Every hold has a fence no earlier hold had, so an owner
// that was overtaken cannot change the record any more. 0 is never a valid fence.
using Fence = std::uint64_t;

// The numbers are stored on disk: never change or reuse one.
enum class State : std::uint8_t {
  in_progress = 1,       // reserved; its owner is working
  completed = 2,         // executed; the answer is kept and replayed
  failed_retryable = 3,  // proved not executed; the next reserve with the same fingerprint runs
  unknown = 4,           // may have been executed; only reconciliation or an operator settles it
  expired = 5,           // executed; the answer is no longer kept, the key still is
};

std::string_view to_string(State state);

// A record is unique by both parts. The scope comes from the caller's verified credentials.
struct RecordId {
  std::string scope;
  std::string key;

  auto operator<=>(const RecordId&) const = default;
};

struct Fingerprint {
  std::uint8_t version = 0;  // 0: none
  std::array<std::uint8_t, 32> digest{};

  bool operator==(const Fingerprint&) const = default;
};

struct Header {
  std::string name;
  std::string value;

  bool operator==(const Header&) const = default;
};

// sealed: headers and body together, encrypted; src/store/answer_seal.h.
enum class BodyEncoding : std::uint8_t { identity = 0, zstd = 1, sealed = 2 };

// An answer as it is kept. `schema_version` says how to read it; a build that does not know the
// version must not serve the response.
struct StoredResponse {
  static constexpr std::uint8_t current_schema_version = 1;

  std::uint8_t schema_version = current_schema_version;
  int status = 0;
  std::vector<Header> headers;  // only those that a replay may repeat
  BodyEncoding body_encoding = BodyEncoding::identity;
  std::string body;  // encoded as body_encoding says

  bool operator==(const StoredResponse&) const = default;
};

// A record became `state`; kept for operators.
struct Transition {
  // How many a record keeps: the first, and the latest.
  static constexpr std::size_t kept_max = 32;
  // A longer text is cut.
  static constexpr std::size_t text_bytes_max = 256;

  TimestampMs at = 0;  // 0: not known
  State state = State::in_progress;
  std::uint32_t attempt = 0;
  std::string by;             // which run of which node, or who decided; empty: not known
  std::string reason;         // empty: none was given
  std::uint32_t dropped = 0;  // how many before this one are no longer kept

  bool operator==(const Transition&) const = default;
};

struct Record {
  RecordId id;
  Fingerprint fingerprint;
  State state = State::in_progress;
  std::uint32_t attempt = 0;
  Fence fence = 0;
  std::string method;  // for operators
  std::string path;    // for operators; without the query
  std::string owner;   // which run of which node holds or held it
  std::string recovery_point;
  std::string last_error;
  std::shared_ptr<const StoredResponse> response;  // completed only; null when it was too large
  DurationMs retention_ms = 0;                     // counted from settlement
  DurationMs tombstone_ms = 0;                     // how long the key outlives its answer; 0: not
  TimestampMs created_at = 0;
  TimestampMs locked_until = 0;     // in_progress: when the lease ends
  TimestampMs reconcile_after = 0;  // unknown: not before this is it worth asking again
  TimestampMs completed_at = 0;     // 0: not settled as completed
  TimestampMs expires_at = 0;       // completed: end of retention; expired: end of the tombstone
  // Found or listed: when, by the store's clock, which the times above follow. Not stored.
  TimestampMs read_at = 0;
  // Empty where the rest tells all: reserved once, and completed perhaps. src/boundary/timeline.h
  // makes the whole list of it.
  std::vector<Transition> history;
};

}  // namespace oncekey
