// Records as the scripts write them (lua/record.lua), read again.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"
#include "oncekey/store.h"

namespace oncekey::store {

// Empty: damaged, or of a later version. The id is not part of the value.
std::optional<Record> decode_redis_record(std::string_view value, const RecordId& id);

// Whether a script refused because of what a record says. It has changed nothing then.
bool is_about_record(std::string_view error);

// What the scripts take as arguments.
std::string redis_fence(Fence fence);
std::string redis_fingerprint(const Fingerprint& fingerprint);
std::string redis_request(const Reserve& reserve);

// A new record in progress, but for its times, and where they are.
std::string redis_new_record(const Reserve& reserve, Fence fence);
inline constexpr std::size_t redis_created_at = 59;
inline constexpr std::size_t redis_since_at = 65;
inline constexpr std::size_t redis_expires_at = 71;
// The same record when it is completed, but for the time since when, and when it expires.
std::string redis_completed_record(std::string_view in_progress, std::string_view answer);
// What a record in progress under that fence begins with.
std::string redis_start_in_progress(Fence fence);

}  // namespace oncekey::store
