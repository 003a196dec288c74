#include "http/field.h"

#include <array>

namespace oncekey::http {

namespace {

struct Known {
  std::string_view name;
  FieldId id;
};

constexpr std::array known_fields = {
    Known{"accept", FieldId::accept},
    Known{"authorization", FieldId::authorization},
    Known{"connection", FieldId::connection},
    Known{"content-length", FieldId::content_length},
    Known{"content-type", FieldId::content_type},
    Known{"date", FieldId::date},
    Known{"expect", FieldId::expect},
    Known{"forwarded", FieldId::forwarded},
    Known{"host", FieldId::host},
    Known{"idempotency-attempt", FieldId::idempotency_attempt},
    Known{"idempotency-expires", FieldId::idempotency_expires},
    Known{"idempotency-key", FieldId::idempotency_key},
    Known{"idempotency-outcome", FieldId::idempotency_outcome},
    Known{"keep-alive", FieldId::keep_alive},
    Known{"proxy-authenticate", FieldId::proxy_authenticate},
    Known{"proxy-authorization", FieldId::proxy_authorization},
    Known{"proxy-connection", FieldId::proxy_connection},
    Known{"server", FieldId::server},
    Known{"te", FieldId::te},
    Known{"traceparent", FieldId::traceparent},
    Known{"trailer", FieldId::trailer},
    Known{"transfer-encoding", FieldId::transfer_encoding},
    Known{"upgrade", FieldId::upgrade},
    Known{"x-forwarded-for", FieldId::x_forwarded_for},
    Known{"x-forwarded-host", FieldId::x_forwarded_host},
    Known{"x-forwarded-proto", FieldId::x_forwarded_proto},
};

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

constexpr std::array<bool, 256> make_token_table() {
  std::array<bool, 256> table{};
  for (char c : std::string_view("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz"
                                 "ABCDEFGHIJKLMNOPQRSTUVWXYZ")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr auto token_table = make_token_table();

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

FieldId field_id(std::string_view name) {
  if (name.empty()) return FieldId::other;
  char first = lower(name.front());
  for (const Known& known : known_fields) {
    if (known.name.size() == name.size() && known.name.front() == first &&
        equals_ignoring_case(known.name, name)) {
      return known.id;
    }
  }
  return FieldId::other;
}

bool is_token(std::string_view text) {
  for (char c : text) {
    if (!token_table[static_cast<unsigned char>(c)]) return false;
  }
  return !text.empty();
}

bool is_hop_by_hop(FieldId id) {
  switch (id) {
    case FieldId::connection:
    case FieldId::keep_alive:
    case FieldId::proxy_authenticate:
    case FieldId::proxy_authorization:
    case FieldId::proxy_connection:
    case FieldId::te:
    case FieldId::trailer:
    case FieldId::transfer_encoding:
    case FieldId::upgrade:
      return true;
    default:
      return false;
  }
}

}  // namespace oncekey::http
