#include "admin/key_filter.h"

#include <algorithm>
#include <charconv>

#include "boundary/ascii.h"
#include "gateway/route_pattern.h"

namespace oncekey::admin {
namespace {

constexpr std::size_t page_size = 500;
constexpr std::int64_t text_max = 1'024;
constexpr State states[] = {State::in_progress, State::completed, State::failed_retryable,
                            State::unknown, State::expired};

Field text_field(std::string_view name, std::string_view about) {
  return {.name = name, .about = about, .max = text_max};
}

bool matches(const Record& record, const KeyFilter& filter, const RouteOf& route_of) {
  if (!record.id.key.starts_with(filter.key_prefix)) return false;
  if (!filter.method.empty() && record.method != filter.method) return false;
  if (!filter.path.empty() &&
      !gateway::matches_path(filter.path, record.path, gateway::LetterCase::exact)) {
    return false;
  }
  if (filter.created_before > 0 && record.created_at >= filter.created_before) return false;
  if (filter.created_after > 0 && record.created_at <= filter.created_after) return false;
  if (filter.route.empty()) return true;
  const gateway::RouteConfig* route = route_of(record);
  return route != nullptr && route->match == filter.route;
}

}  // namespace

Field state_field() {
  Field field{.name = "state", .kind = FieldKind::choice, .about = "only records in this state"};
  for (const State state : states) field.choices.push_back(to_string(state));
  return field;
}

Field tenant_field() {
  return text_field("tenant",
                    "the record's scope; left out: the one tenant of a gateway that has one");
}

Field key_field() {
  Field field = text_field("key", "the idempotency key");
  field.required = true;
  return field;
}

std::vector<Field> key_filter_fields() {
  return {
      text_field("tenant", "only records of this scope"),
      text_field("route", "only requests of this route: its match, as configured"),
      text_field("method", "only requests with this method"),
      text_field("path", "only requests of this path; a * as in a route's match"),
      text_field("key_prefix", "only keys that begin so"),
      {.name = "older_than", .kind = FieldKind::duration, .about = "created longer ago than this"},
      {.name = "newer_than", .kind = FieldKind::duration, .about = "created within this time"},
  };
}

KeyFilter key_filter(const Arguments& arguments, TimestampMs now) {
  KeyFilter filter;
  const std::string state = arguments.text("state");
  for (const State known : states) {
    if (to_string(known) == state) filter.state = known;
  }
  if (arguments.has("tenant")) filter.tenant = arguments.text("tenant");
  filter.route = arguments.text("route");
  filter.method = arguments.text("method");
  filter.path = arguments.text("path");
  filter.key_prefix = arguments.text("key_prefix");
  if (const auto age = arguments.time("older_than")) filter.created_before = now - *age;
  if (const auto age = arguments.time("newer_than")) filter.created_after = now - *age;
  return filter;
}

Result<KeyPage, Unavailable> find_keys(store::Committer& committer, const KeyFilter& filter,
                                       std::size_t limit, std::optional<RecordId> after,
                                       const RouteOf& route_of) {
  KeyPage found;
  while (found.examined < key_examined_max) {
    List list;
    list.state = filter.state;
    list.scope = filter.tenant;
    list.after = after;
    list.limit = std::min(page_size, key_examined_max - found.examined);
    const std::size_t asked = list.limit;
    Operation operation = std::move(list);
    committer.apply_now(operation);
    auto& outcome = std::get<List>(operation).outcome;
    if (auto* unavailable = std::get_if<Unavailable>(&outcome)) return *unavailable;
    auto& page = std::get<std::vector<Record>>(outcome);
    for (Record& record : page) {
      after = record.id;
      ++found.examined;
      if (!matches(record, filter, route_of)) continue;
      found.records.push_back(std::move(record));
      if (found.records.size() < limit) continue;
      found.next = after;
      return found;
    }
    if (page.size() < asked) return found;
  }
  found.next = after;
  return found;
}

std::string to_cursor(const RecordId& id) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string cursor = std::to_string(id.scope.size()) + ".";
  for (const char c : id.scope + id.key) {
    cursor.push_back(digits[static_cast<unsigned char>(c) >> 4]);
    cursor.push_back(digits[static_cast<unsigned char>(c) & 15]);
  }
  return cursor;
}

std::optional<RecordId> from_cursor(std::string_view cursor) {
  std::size_t scope_size = 0;
  const auto [end, error] =
      std::from_chars(cursor.data(), cursor.data() + cursor.size(), scope_size);
  if (error != std::errc{} || end == cursor.data() + cursor.size() || *end != '.') {
    return std::nullopt;
  }
  cursor.remove_prefix(static_cast<std::size_t>(end - cursor.data()) + 1);
  if (cursor.size() % 2 != 0 || scope_size > cursor.size() / 2) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < cursor.size(); i += 2) {
    const int high = hex_digit(cursor[i]), low = hex_digit(cursor[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return RecordId{bytes.substr(0, scope_size), bytes.substr(scope_size)};
}

}  // namespace oncekey::admin
