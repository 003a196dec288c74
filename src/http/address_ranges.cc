#include "http/address_ranges.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace oncekey::http {
namespace {

constexpr int mapped_bits = 96;  // of ::ffff:0:0/96, where IPv4 addresses are
constexpr int all_bits = 128;

bool bit(const std::array<unsigned char, 16>& bytes, int i) {
  return (bytes[static_cast<std::size_t>(i / 8)] >> (7 - i % 8) & 1) != 0;
}

}  // namespace

bool AddressRanges::read(std::string_view text, Bytes& bytes, bool& is_v4) {
  const std::string terminated(text.substr(0, text.find('%')));  // without the interface
  bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
  is_v4 = ::inet_pton(AF_INET, terminated.c_str(), bytes.data() + 12) == 1;
  return is_v4 || ::inet_pton(AF_INET6, terminated.c_str(), bytes.data()) == 1;
}

Result<AddressRanges, std::string> AddressRanges::of(std::vector<std::string> texts) {
  AddressRanges all;
  for (const std::string& text : texts) {
    const std::size_t slash = text.find('/');
    Range range{};
    bool is_v4 = false;
    if (text.find('%') != text.npos || !read(text.substr(0, slash), range.bytes, is_v4)) {
      return "\"" + text + "\" is not an IP address or a range of them";
    }
    const int offset = is_v4 ? mapped_bits : 0;
    range.prefix_bits = all_bits;
    if (slash != text.npos) {
      const std::string_view digits = std::string_view(text).substr(slash + 1);
      int bits = -1;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), bits);
      if (error != std::errc{} || end != digits.data() + digits.size() || bits < 0 ||
          bits > all_bits - offset) {
        return "\"" + text + "\": the number after / is 0 to " + std::to_string(all_bits - offset);
      }
      range.prefix_bits = offset + bits;
    }
    for (int i = range.prefix_bits; i < all_bits; ++i) {
      if (bit(range.bytes, i)) return "\"" + text + "\" has bits set behind its prefix";
    }
    all.ranges_.push_back(range);
  }
  all.texts_ = std::move(texts);
  return all;
}

bool AddressRanges::contain(std::string_view address) const {
  Bytes bytes{};
  bool is_v4 = false;
  if (!read(address, bytes, is_v4)) return false;
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    for (int i = 0; i < range.prefix_bits; ++i) {
      if (i % 8 == 0 && i + 8 <= range.prefix_bits) {
        const auto byte = static_cast<std::size_t>(i / 8);
        if (bytes[byte] != range.bytes[byte]) return false;
        i += 7;
      } else if (bit(bytes, i) != bit(range.bytes, i)) {
        return false;
      }
    }
    return true;
  });
}

bool AddressRanges::contain_everything() const {
  return std::any_of(ranges_.begin(), ranges_.end(), [](const Range& range) {
    return range.prefix_bits == 0 || range.prefix_bits == mapped_bits;
  });
}

}  // namespace oncekey::http
