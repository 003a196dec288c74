#include "admin/unknown_outcomes.h"

#include <algorithm>

#include "admin/key_filter.h"
#include "admin/record_json.h"

namespace oncekey::admin {
namespace {

constexpr std::size_t examined_max = 2'000;

}  // namespace

void write_unknown_outcomes(JsonWriter& json, store::Committer& committer,
                            std::optional<std::uint64_t> count) {
  KeyFilter filter;
  filter.state = State::unknown;
  const RouteOf no_route = [](const Record&) { return nullptr; };
  const auto found = find_keys(committer, filter, examined_max, std::nullopt, no_route);
  if (!found) {
    if (count) json.member("count", *count);
    json.member("all_examined", false);
    return;
  }
  json.member("count", std::max<std::uint64_t>(count.value_or(0), found->records.size()));
  const auto oldest = std::min_element(
      found->records.begin(), found->records.end(),
      [](const Record& a, const Record& b) { return a.created_at < b.created_at; });
  if (oldest != found->records.end()) {
    json.key("oldest");
    write_record(json, *oldest);
  }
  json.member("all_examined", !found->next);
}

}  // namespace oncekey::admin
