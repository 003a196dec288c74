#include "gateway/trace.h"

#include <array>
#include <cstdint>
#include <random>

namespace oncekey::gateway {

namespace {

std::uint64_t random_bits() {
  thread_local std::mt19937_64 generator = [] {
    std::random_device device;
    std::seed_seq seed{device(), device(), device(), device()};
    return std::mt19937_64(seed);
  }();
  return generator();
}

void append_hex(std::string& out, std::uint64_t bits, int digits) {
  constexpr std::string_view alphabet = "0123456789abcdef";
  std::array<char, 16> text;
  for (int i = digits - 1; i >= 0; --i, bits >>= 4) text[i] = alphabet[bits & 15];
  out.append(text.data(), digits);
}

bool is_lower_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_traceparent(std::string_view text) {
  // version-traceid-parentid-flags; a later version may append fields.
  if (text.size() < 55 || (text.size() > 55 && (text[55] != '-' || text.starts_with("00")))) {
    return false;
  }
  if (text[2] != '-' || text[35] != '-' || text[52] != '-') return false;
  std::string_view version = text.substr(0, 2), trace_id = text.substr(3, 32);
  std::string_view parent_id = text.substr(36, 16), flags = text.substr(53, 2);
  if (!is_lower_hex(version) || !is_lower_hex(trace_id) || !is_lower_hex(parent_id) ||
      !is_lower_hex(flags) || version == "ff" || text.size() > 256) {
    return false;
  }
  return trace_id.find_first_not_of('0') != std::string_view::npos &&
         parent_id.find_first_not_of('0') != std::string_view::npos;
}

}  // namespace

Trace keep_or_start_trace(std::optional<std::string_view> traceparent) {
  Trace trace;
  if (traceparent && is_traceparent(*traceparent)) {
    trace.traceparent = *traceparent;
    trace.continued = true;
    return trace;
  }
  trace.traceparent.reserve(55);
  trace.traceparent.append("00-");
  append_hex(trace.traceparent, random_bits() | 1, 16);
  append_hex(trace.traceparent, random_bits(), 16);
  trace.traceparent.append("-");
  append_hex(trace.traceparent, random_bits() | 1, 16);
  trace.traceparent.append("-01");
  return trace;
}

void begin_spans(Trace& trace, int percent) {
  constexpr std::size_t flag_digit = 54;
  if (trace.continued) {
    trace.parent_id = trace.upstream_span_id();
    const char flags = trace.traceparent[flag_digit];
    trace.sampled = (flags <= '9' ? flags - '0' : flags - 'a' + 10) % 2 == 1;
  } else {
    trace.sampled = static_cast<int>(random_bits() % 100) < percent;
  }
  append_hex(trace.span_id, random_bits() | 1, 16);
  // Of a later version only what this one knows is carried on.
  std::string mine = "00-" + std::string(trace.trace_id()) + "-";
  append_hex(mine, random_bits() | 1, 16);
  mine += trace.sampled ? "-01" : "-00";
  trace.traceparent = std::move(mine);
}

std::string random_uuid() {
  std::uint64_t high = (random_bits() & ~0xf000ULL) | 0x4000ULL;
  std::uint64_t low = (random_bits() & ~(0xc0ULL << 56)) | (0x80ULL << 56);
  std::string uuid;
  uuid.reserve(36);
  append_hex(uuid, high >> 32, 8);
  uuid.push_back('-');
  append_hex(uuid, high >> 16, 4);
  uuid.push_back('-');
  append_hex(uuid, high, 4);
  uuid.push_back('-');
  append_hex(uuid, low >> 48, 4);
  uuid.push_back('-');
  append_hex(uuid, low, 12);
  return uuid;
}

}  // namespace oncekey::gateway
