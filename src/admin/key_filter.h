// Which records an operator means, and finding them: pages of the store's own list, looked through
// here, so that every store answers with bounded queries.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/arguments.h"
#include "gateway/config.h"
#include "oncekey/record.h"
#include "oncekey/store.h"
#include "store/committer.h"

namespace oncekey::admin {

// A record's route; null: none has it now.
using RouteOf = std::function<const gateway::RouteConfig*(const Record&)>;

struct KeyFilter {
  std::optional<State> state;
  std::optional<std::string> tenant;
  std::string route;   // its match as configured; "": any
  std::string method;  // "": any
  std::string path;    // a pattern as a route has it; "": any
  std::string key_prefix;
  TimestampMs created_before = 0;  // 0: whenever
  TimestampMs created_after = 0;
};

inline constexpr std::size_t key_list_default = 100;
inline constexpr std::size_t key_list_max = 1'000;
// Records that one call looks at; it then says where to go on.
inline constexpr std::size_t key_examined_max = 10'000;

std::vector<Field> key_filter_fields();  // without the state
Field state_field();
Field tenant_field();
Field key_field();

KeyFilter key_filter(const Arguments& arguments, TimestampMs now);

struct KeyPage {
  std::vector<Record> records;  // without their answers
  std::size_t examined = 0;
  std::optional<RecordId> next;  // there may be more after this one
};

Result<KeyPage, Unavailable> find_keys(store::Committer& committer, const KeyFilter& filter,
                                       std::size_t limit, std::optional<RecordId> after,
                                       const RouteOf& route_of);

// A record's id as text that fits into a query, and back.
std::string to_cursor(const RecordId& id);
std::optional<RecordId> from_cursor(std::string_view cursor);

}  // namespace oncekey::admin
