// Records as bytes. Each value starts with its layout's number, so that a later build can change
// it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey::store {

// A key whose byte order is the order of ids: the scope with its zero bytes escaped, a terminator
// that no escaped scope contains, the key.
void append_id(std::string& out, const RecordId& id);
std::optional<RecordId> decode_id(std::string_view bytes);

// in_progress, failed_retryable, unknown; the id is part of the value.
void append_open(std::string& out, const Record& record);
std::optional<Record> decode_open(std::string_view bytes);

// completed; the id is not part of the value.
void append_completed(std::string& out, const Record& record);
std::optional<Record> decode_completed(std::string_view bytes);

// What outlives a completed record's answer: decodes to a record in State::expired. It can be
// written ahead, at settlement; `valid_from` tells when the answer's retention ends.
struct Tombstone {
  Record record;
  TimestampMs valid_from = 0;
};
void append_tombstone(std::string& out, const Record& completed);
std::optional<Tombstone> decode_tombstone(std::string_view bytes);

// An answer by itself, for engines that keep it beside the rest of the record.
void append_response(std::string& out, const StoredResponse& response);
std::shared_ptr<const StoredResponse> decode_response(std::string_view bytes);  // null: damaged

// When a value written by append_completed or append_tombstone is of no more use. Reads only the
// first few bytes.
std::optional<TimestampMs> completed_expiry(std::string_view bytes);
std::optional<TimestampMs> tombstone_expiry(std::string_view bytes);

}  // namespace oncekey::store
