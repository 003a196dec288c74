// The key that a call made on behalf of a record carries, so that the provider dedupes the one
// window that no database can close: the call was made, and its maker died before writing it down.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "oncekey/record.h"

namespace oncekey {

inline constexpr std::size_t derived_key_size_max = 64;

// The same for every attempt, by every node and every version of this library; another for every
// scope, key and phase. Made of A-Z a-z 0-9 _ -; it does not give away what it was derived from.
std::string derive_key(const RecordId& id, std::string_view phase);

}  // namespace oncekey
