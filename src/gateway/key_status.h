// What became of a key, for the caller whose key it is (SPEC W6, W7):
//   GET /.well-known/idempotency/keys/{key}         its state as JSON
//   GET /.well-known/idempotency/keys/{key}/answer  the stored answer itself
// Never reaches the upstream. A key of somebody else is as absent as one that nobody has.
#pragma once

#include <string>
#include <string_view>

#include "gateway/context.h"
#include "http/exchange.h"

namespace oncekey::gateway {

inline constexpr std::string_view key_status_prefix = "/.well-known/idempotency/keys/";

http::Task<void> answer_key_status(const Context& context, http::Exchange& exchange);

// The status resource of a key, with the key percent-encoded.
std::string key_status_path(std::string_view key);

// How long a client should wait before it looks again; 0: the state is final.
DurationMs look_again_in(const Record& record, TimestampMs now);

// The resource's document.
std::string key_status_json(const Record& record, TimestampMs now);

// The headers that every answer of the resource has.
void add_status_fields(http::ResponseStart& start, const Record& record, TimestampMs now);

}  // namespace oncekey::gateway
