// The tokens that open the admin API: each has a name, for the audit file, and a role. Only their
// hashes are kept.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::admin {

inline constexpr std::size_t token_length_min = 16;
inline constexpr std::size_t tokens_max = 100;

struct Token {
  std::string name;
  bool may_write = false;
  std::array<std::uint8_t, 32> digest{};  // SHA-256
};

// A line for each: NAME read|write TOKEN. Empty lines, and those that begin with #, are left out.
// The error never repeats a token.
Result<std::vector<Token>, std::string> parse_tokens(std::string_view text);

// One that came by the environment: for everything.
Result<Token, std::string> single_token(std::string_view name, std::string_view token);

// Null: none of them. Takes the same time wherever it differs, and whichever it is.
const Token* find_token(const std::vector<Token>& tokens, std::string_view sent);

}  // namespace oncekey::admin
