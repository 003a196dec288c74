#include "admin/tokens.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "boundary/ascii.h"
#include "oncekey/assert.h"

namespace oncekey::admin {
namespace {

std::array<std::uint8_t, 32> digest_of(std::string_view text) {
  std::array<std::uint8_t, 32> digest{};
  unsigned int size = 0;
  const int made =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  ONCEKEY_ASSERT(made == 1 && size == digest.size());
  return digest;
}

// The next word, taken off the line.
std::string_view take_word(std::string_view& line) {
  line = trim(line);
  const std::size_t end = line.find_first_of(" \t");
  const std::string_view word = line.substr(0, end);
  line = end == line.npos ? std::string_view() : line.substr(end);
  return word;
}

}  // namespace

Result<Token, std::string> single_token(std::string_view name, std::string_view token) {
  if (token.size() < token_length_min) {
    return "the token \"" + std::string(name) + "\" has " + std::to_string(token.size()) +
           " of at least " + std::to_string(token_length_min) + " characters: openssl rand -hex 32";
  }
  return Token{std::string(name), true, digest_of(token)};
}

Result<std::vector<Token>, std::string> parse_tokens(std::string_view text) {
  std::vector<Token> tokens;
  std::size_t number = 0;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    const std::string place = "line " + std::to_string(number) + ": ";
    const std::string_view name = take_word(line), role = take_word(line), word = take_word(line);
    if (word.empty() || !trim(line).empty() || (role != "read" && role != "write")) {
      return place + "expected NAME read|write TOKEN, such as: alice write $(openssl rand -hex 32)";
    }
    auto token = single_token(name, word);
    if (!token) return place + token.error();
    token->may_write = role == "write";
    for (const Token& other : tokens) {
      if (other.name == token->name) return place + "there is a \"" + other.name + "\" already";
      if (other.digest == token->digest) return place + "the same token as \"" + other.name + "\"";
    }
    if (tokens.size() == tokens_max) {
      return place + "more than " + std::to_string(tokens_max) + " tokens";
    }
    tokens.push_back(std::move(*token));
  }
  if (tokens.empty())
    return std::string("there is no token in it; a line is NAME read|write TOKEN");
  return tokens;
}

const Token* find_token(const std::vector<Token>& tokens, std::string_view sent) {
  const auto digest = digest_of(sent);
  const Token* found = nullptr;
  for (const Token& token : tokens) {
    if (CRYPTO_memcmp(token.digest.data(), digest.data(), digest.size()) == 0) found = &token;
  }
  return found;
}

}  // namespace oncekey::admin
