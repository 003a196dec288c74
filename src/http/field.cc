#include "http/field.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace oncekey::http {

namespace {

struct Known {
  std::string_view name;
  FieldId id;
};

// By length, so that a name is compared with few others.
constexpr std::array known_fields = {
    Known{"te", FieldId::te},
    Known{"date", FieldId::date},
    Known{"host", FieldId::host},
    Known{"accept", FieldId::accept},
    Known{"expect", FieldId::expect},
    Known{"server", FieldId::server},
    Known{"trailer", FieldId::trailer},
    Known{"upgrade", FieldId::upgrade},
    Known{"forwarded", FieldId::forwarded},
    Known{"connection", FieldId::connection},
    Known{"keep-alive", FieldId::keep_alive},
    Known{"traceparent", FieldId::traceparent},
    Known{"content-type", FieldId::content_type},
    Known{"authorization", FieldId::authorization},
    Known{"content-length", FieldId::content_length},
    Known{"idempotency-key", FieldId::idempotency_key},
    Known{"x-forwarded-for", FieldId::x_forwarded_for},
    Known{"proxy-connection", FieldId::proxy_connection},
    Known{"x-forwarded-host", FieldId::x_forwarded_host},
    Known{"transfer-encoding", FieldId::transfer_encoding},
    Known{"x-forwarded-proto", FieldId::x_forwarded_proto},
    Known{"proxy-authenticate", FieldId::proxy_authenticate},
    Known{"idempotency-attempt", FieldId::idempotency_attempt},
    Known{"idempotency-expires", FieldId::idempotency_expires},
    Known{"idempotency-outcome", FieldId::idempotency_outcome},
    Known{"proxy-authorization", FieldId::proxy_authorization},
};
constexpr std::size_t known_length_max = known_fields.back().name.size();

// Where the names of a length begin; those of the next length begin where they end.
constexpr std::array<std::uint8_t, known_length_max + 2> known_begin = [] {
  std::array<std::uint8_t, known_length_max + 2> begin{};
  for (std::size_t length = 0; length < begin.size(); ++length) {
    for (const Known& known : known_fields) begin[length] += known.name.size() < length;
  }
  return begin;
}();
static_assert(std::is_sorted(known_fields.begin(), known_fields.end(),
                             [](const Known& a, const Known& b) {
                               return a.name.size() < b.name.size();
                             }));

constexpr char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

// As lower(), for eight characters at once. Adding to the low seven bits of each byte carries
// nothing over to the next one.
std::uint64_t eight_lower(const char* text) {
  constexpr std::uint64_t each = 0x0101010101010101;
  std::uint64_t bytes;
  std::memcpy(&bytes, text, sizeof bytes);
  const std::uint64_t low = bytes & each * 0x7f;
  const std::uint64_t from_a = low + each * (0x80 - 'A');      // high bit: 'A' or above
  const std::uint64_t past_z = low + each * (0x80 - 'Z' - 1);  // high bit: above 'Z'
  const std::uint64_t capital = from_a & ~past_z & ~bytes & each * 0x80;
  return bytes | capital >> 2;  // 0x20, which a capital does not have
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

bool same_size_equals_ignoring_case(std::string_view a, std::string_view b) {
  std::size_t i = 0;
  for (; i + sizeof(std::uint64_t) <= a.size(); i += sizeof(std::uint64_t)) {
    if (eight_lower(a.data() + i) != eight_lower(b.data() + i)) return false;
  }
  for (; i < a.size(); ++i) {
    if (lower(a[i]) != lower(b[i])) return false;
  }
  return true;
}

FieldId field_id(std::string_view name) {
  if (name.empty() || name.size() > known_length_max) return FieldId::other;
  const char first = lower(name.front());
  for (std::size_t i = known_begin[name.size()]; i < known_begin[name.size() + 1]; ++i) {
    const Known& known = known_fields[i];
    if (known.name.front() == first && equals_ignoring_case(known.name, name)) return known.id;
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
