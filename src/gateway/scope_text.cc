#include "gateway/scope_text.h"

#include <openssl/evp.h>

#include <array>

#include "oncekey/assert.h"

namespace oncekey::gateway {
namespace {

constexpr std::string_view number_mark = "%#";  // no escape looks like that

void append_escaped(std::string& out, std::string_view text, std::string_view also = {}) {
  static constexpr char hex[] = "0123456789ABCDEF";
  for (const char c : text) {
    if (c > ' ' && c < 0x7f && c != '%' && also.find(c) == also.npos) {
      out.push_back(c);
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out.push_back('%');
    out.push_back(hex[byte >> 4]);
    out.push_back(hex[byte & 15]);
  }
}

// A name has neither the = that ends it nor the + that begins an extension.
void append_name(std::string& out, std::string_view name) {
  append_escaped(out, name, "=+");
  out.push_back('=');
}

}  // namespace

ScopeText& ScopeText::add(std::string_view name, std::string_view value) {
  text_.push_back(' ');
  append_name(text_, name);
  append_escaped(text_, value);
  return *this;
}

ScopeText& ScopeText::add_number(std::string_view name, std::string_view digits) {
  text_.push_back(' ');
  append_name(text_, name);
  text_.append(number_mark).append(digits);
  return *this;
}

ScopeText& ScopeText::extend(std::string_view name, std::string_view value) {
  text_.append(" +");
  append_name(text_, name);
  append_escaped(text_, value);
  return *this;
}

ScopeText& ScopeText::extend_number(std::string_view name, std::string_view digits) {
  text_.append(" +");
  append_name(text_, name);
  text_.append(number_mark).append(digits);
  return *this;
}

std::string ScopeText::bounded() const {
  if (text_.size() <= scope_length_max) return text_;
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  ONCEKEY_ASSERT(
      EVP_Digest(text_.data(), text_.size(), digest.data(), &size, EVP_sha256(), nullptr) == 1 &&
      size == digest.size());
  static constexpr char hex[] = "0123456789abcdef";
  std::string hashed = "sha256 =";
  for (const unsigned char byte : digest) {
    hashed.push_back(hex[byte >> 4]);
    hashed.push_back(hex[byte & 15]);
  }
  return hashed;
}

}  // namespace oncekey::gateway
