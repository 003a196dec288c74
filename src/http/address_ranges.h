// Ranges of IP addresses, as "10.0.0.0/8", "::1" or "192.0.2.7".
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::http {

class AddressRanges {
 public:
  AddressRanges() = default;
  // The error says what is wrong with which.
  static Result<AddressRanges, std::string> of(std::vector<std::string> texts);

  // `address` as a peer has it, without port. An IPv4 address that came by IPv6 is the IPv4 one.
  bool contain(std::string_view address) const;
  // Whether some range is every address of its family.
  bool contain_everything() const;
  const std::vector<std::string>& texts() const { return texts_; }

 private:
  using Bytes = std::array<unsigned char, 16>;  // IPv4 as ::ffff:a.b.c.d
  struct Range {
    Bytes bytes;
    int prefix_bits;
  };

  static bool read(std::string_view text, Bytes& bytes, bool& is_v4);

  std::vector<std::string> texts_;
  std::vector<Range> ranges_;
};

}  // namespace oncekey::http
