#include "boundary/json_lexer.h"

#include <array>

#include "boundary/ascii.h"

namespace oncekey {
namespace {

// Bytes that end a run of plain characters inside a string.
constexpr auto stops_run = [] {
  std::array<bool, 256> stops{};
  for (int c = 0; c < 0x20; ++c) stops[c] = true;
  stops['"'] = stops['\\'] = true;
  return stops;
}();

bool is_high_surrogate(unsigned unit) {
  return unit >= 0xD800 && unit <= 0xDBFF;
}
bool is_low_surrogate(unsigned unit) {
  return unit >= 0xDC00 && unit <= 0xDFFF;
}

void append_utf8(std::string& out, unsigned code_point) {
  const auto push = [&](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    push(code_point);
  } else if (code_point < 0x800) {
    push(0xC0 | code_point >> 6);
    push(0x80 | (code_point & 0x3F));
  } else if (code_point < 0x10000) {
    push(0xE0 | code_point >> 12);
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  } else {
    push(0xF0 | code_point >> 18);
    push(0x80 | (code_point >> 12 & 0x3F));
    push(0x80 | (code_point >> 6 & 0x3F));
    push(0x80 | (code_point & 0x3F));
  }
}

}  // namespace

bool JsonLexer::take_string(String& string) {
  if (at_ >= text_.size() || text_[at_] != '"') return false;
  const std::size_t start = ++at_;
  while (at_ < text_.size() && !stops_run[static_cast<unsigned char>(text_[at_])]) ++at_;
  if (at_ == text_.size()) return false;
  if (text_[at_] == '"') {
    string = {text_.substr(start, at_ - start), false};
    ++at_;
    return true;
  }
  return unescape_rest(string, start);
}

bool JsonLexer::unescape_rest(String& string, std::size_t start) {
  scratch_.assign(text_, start, at_ - start);
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '"') {
      ++at_;
      string = {scratch_, true};
      return true;
    }
    if (c == '\\') {
      ++at_;
      if (!unescape_one()) return false;
      continue;
    }
    const std::size_t run = at_;
    while (at_ < text_.size() && !stops_run[static_cast<unsigned char>(text_[at_])]) ++at_;
    if (at_ == run) return false;  // a raw control character
    scratch_.append(text_, run, at_ - run);
  }
  return false;
}

bool JsonLexer::unescape_one() {
  if (at_ == text_.size()) return false;
  switch (text_[at_++]) {
    case '"':
      scratch_.push_back('"');
      return true;
    case '\\':
      scratch_.push_back('\\');
      return true;
    case '/':
      scratch_.push_back('/');
      return true;
    case 'b':
      scratch_.push_back('\b');
      return true;
    case 'f':
      scratch_.push_back('\f');
      return true;
    case 'n':
      scratch_.push_back('\n');
      return true;
    case 'r':
      scratch_.push_back('\r');
      return true;
    case 't':
      scratch_.push_back('\t');
      return true;
    case 'u':
      break;
    default:
      return false;
  }
  unsigned unit = 0;
  if (!take_hex4(unit) || is_low_surrogate(unit)) return false;
  if (is_high_surrogate(unit)) {
    unsigned low = 0;
    if (!take_literal("\\u") || !take_hex4(low) || !is_low_surrogate(low)) return false;
    unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(scratch_, unit);
  return true;
}

bool JsonLexer::take_hex4(unsigned& unit) {
  if (text_.size() - at_ < 4) return false;
  unit = 0;
  for (int i = 0; i < 4; ++i) {
    const int digit = hex_digit(text_[at_++]);
    if (digit < 0) return false;
    unit = unit << 4 | static_cast<unsigned>(digit);
  }
  return true;
}

std::size_t JsonLexer::skip_digits() {
  const std::size_t start = at_;
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  return at_ - start;
}

bool JsonLexer::take_number(std::string_view& token) {
  const std::size_t start = at_;
  const auto next_is = [&](char c) { return at_ < text_.size() && text_[at_] == c; };
  if (next_is('-')) ++at_;
  const bool leading_zero = next_is('0');
  const std::size_t whole = skip_digits();
  if (whole == 0 || (leading_zero && whole > 1)) return false;
  if (next_is('.')) {
    ++at_;
    if (skip_digits() == 0) return false;
  }
  if (next_is('e') || next_is('E')) {
    ++at_;
    if (next_is('+') || next_is('-')) ++at_;
    if (skip_digits() == 0) return false;
  }
  token = text_.substr(start, at_ - start);
  return true;
}

}  // namespace oncekey
