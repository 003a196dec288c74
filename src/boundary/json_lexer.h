// Splits a JSON text (RFC 8259) into tokens, strictly. Numbers stay as they were written, which is
// why no general parser is used here: those turn them into doubles.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oncekey {

// The text must be valid UTF-8; a caller checks that once for all of it.
class JsonLexer {
 public:
  // `scratch` holds strings that had escapes.
  JsonLexer(std::string_view text, std::string& scratch) : text_(text), scratch_(scratch) {}

  // The next character that is not white space, without taking it; '\0' at the end.
  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }
  std::size_t position() const { return at_; }
  // Takes `c`, if it comes next.
  bool take(char c) {
    if (peek() != c || at_ == text_.size()) return false;
    ++at_;
    return true;
  }
  bool take_literal(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  struct String {
    std::string_view text;  // valid until the next string is taken
    bool escaped = false;   // false: `text` is also exactly what stood between the quotes
  };
  // A string at the current position. False: it is malformed or has a lone surrogate.
  bool take_string(String& string);

  // A number at the current position, as it was written.
  bool take_number(std::string_view& token);

 private:
  void skip_space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t')) {
      ++at_;
    }
  }
  bool unescape_rest(String& string, std::size_t start);
  bool unescape_one();
  bool take_hex4(unsigned& unit);
  std::size_t skip_digits();

  std::string_view text_;
  std::size_t at_ = 0;
  std::string& scratch_;
};

}  // namespace oncekey
