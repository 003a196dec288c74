// Header fields, and the names this program itself looks at.
#pragma once

#include <cstdint>
#include <string_view>

namespace oncekey::http {

enum class FieldId : std::uint8_t {
  other,
  accept,
  authorization,
  connection,
  content_length,
  content_type,
  date,
  expect,
  forwarded,
  host,
  idempotency_attempt,
  idempotency_expires,
  idempotency_key,
  idempotency_outcome,
  keep_alive,
  proxy_authenticate,
  proxy_authorization,
  proxy_connection,
  server,
  te,
  traceparent,
  trailer,
  transfer_encoding,
  upgrade,
  x_forwarded_for,
  x_forwarded_host,
  x_forwarded_proto,
};

struct Field {
  FieldId id = FieldId::other;
  std::string_view name;
  std::string_view value;  // without white space around it
};

FieldId field_id(std::string_view name);

// ASCII only, as HTTP compares names.
bool same_size_equals_ignoring_case(std::string_view a, std::string_view b);
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_size_equals_ignoring_case(a, b);
}

// RFC 9110 tchar.
bool is_token(std::string_view text);

// Calls `visit(item)` for each non-empty item of a comma-separated list, trimmed.
template <class Visit>
void for_each_list_item(std::string_view list, Visit visit) {
  while (!list.empty()) {
    std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    while (!item.empty() && (item.front() == ' ' || item.front() == '\t')) item.remove_prefix(1);
    while (!item.empty() && (item.back() == ' ' || item.back() == '\t')) item.remove_suffix(1);
    if (!item.empty()) visit(item);
  }
}

// Fields that belong to one connection and are never forwarded (RFC 9110 7.6.1).
bool is_hop_by_hop(FieldId id);

}  // namespace oncekey::http
