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

// A new record in progress, but for its times, which the server adds in between.
std::string redis_head_before_times(const Reserve& reserve, Fence fence);
std::string redis_rest_after_times(const Reserve& reserve);
// What a record in progress under that fence begins with.
std::string redis_start_in_progress(Fence fence);

}  // namespace oncekey::store
