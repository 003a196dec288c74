// What became of a key, for the caller whose key it is (SPEC W6, W7):
//   GET /.well-known/idempotency/keys/{key}         its state as JSON
//   GET /.well-known/idempotency/keys/{key}/answer  the stored answer itself
// With ?scope=TAG in one of the caller's scopes only: where routes add to the scope, a key may have
// been used in several.
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

// What follows the path where a key alone does not say which record it is; otherwise "".
std::string key_status_query(const Context& context, std::string_view scope);

// How long a client should wait before it looks again, by the clock that the record follows; 0: the
// state is final. `route`: the record's, if it still has one.
DurationMs look_again_in(const Record& record, const RouteConfig* route);

// The resource's document. `query` is the one of its own address.
std::string key_status_json(const Record& record, DurationMs again_ms, std::string_view query);

// The headers that every answer of the resource has.
void add_status_fields(http::ResponseStart& start, DurationMs again_ms);

}  // namespace oncekey::gateway
