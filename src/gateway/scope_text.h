// How a caller is written down as the scope of records, so that no two callers ever have the same
// scope. Scopes are stored: none of this may change, or every retry would run again.
//
//   acme                                       a header's value, or the one tenant's name
//   key:f52e5029be8dc2a5ed130aa6f07286f3       an API key's hash
//   api_key name=acme                          a key of api_keys_file
//   jwt sub=alice iss=https://login.example    a token's claim, and its issuer when it has one
//   mtls common_name=acme                      a client certificate
//   … +route=POST%20/payments/* +principal=bob what a route's `scope` adds to any of them
//   sha256 =0f3c…                              the hash of one that would be too long
//
// Words are separated by one space, which the first two kinds never have. Inside a word only
// visible ASCII characters stand for themselves; % and the rest are written %XX, byte by byte: what
// differs in letter case or Unicode form differs. The whole number 42 is %#42, the text "42" is 42.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oncekey::gateway {

inline constexpr std::size_t scope_length_max = 255;

class ScopeText {
 public:
  explicit ScopeText(std::string_view kind_or_name) : text_(kind_or_name) {}

  // One more word: " name=value", " name=%#value", " +name=value".
  ScopeText& add(std::string_view name, std::string_view value);
  ScopeText& add_number(std::string_view name, std::string_view digits);
  ScopeText& extend(std::string_view name, std::string_view value);
  ScopeText& extend_number(std::string_view name, std::string_view digits);

  // Hashed when it is longer than scope_length_max.
  std::string bounded() const;

 private:
  std::string text_;
};

}  // namespace oncekey::gateway
