// What a record remembers of its past, for operators. Only the rare transitions leave something: a
// record that was reserved once and completed has no history, as its own fields tell all.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey {

// A record's history up to now, to be continued: begins with its first reservation.
std::vector<Transition> history_before(const Record& record);

// The record has just become what it is.
void note(Record& record, TimestampMs at, std::string_view by, std::string_view reason);

// The reservation that the record is in progress by has not been, after all.
void forget_reserve(Record& record);

// As bytes, for stores that have no lists. src/store/lua/history.lua writes the same.
std::string encode_history(const std::vector<Transition>& history);
std::optional<std::vector<Transition>> decode_history(std::string_view bytes);  // empty: damaged

}  // namespace oncekey
