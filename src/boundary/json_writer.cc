#include "boundary/json_writer.h"

#include <array>
#include <charconv>
#include <cmath>

#include "boundary/utf8.h"

namespace oncekey {
namespace {

constexpr std::string_view replacement_character = "\xEF\xBF\xBD";

constexpr auto plain_bytes = [] {
  std::array<bool, 256> plain{};
  for (int c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void append_escape(std::string& out, char c) {
  switch (c) {
    case '"':
      out.append("\\\"");
      return;
    case '\\':
      out.append("\\\\");
      return;
    case '\b':
      out.append("\\b");
      return;
    case '\f':
      out.append("\\f");
      return;
    case '\n':
      out.append("\\n");
      return;
    case '\r':
      out.append("\\r");
      return;
    case '\t':
      out.append("\\t");
      return;
  }
  constexpr char hex[] = "0123456789abcdef";
  out.append("\\u00");
  out.push_back(hex[(c >> 4) & 0xF]);
  out.push_back(hex[c & 0xF]);
}

template <class Number>
void append_number(std::string& out, Number number) {
  char digits[32];  // the longest double has 24 characters, the longest integer 20
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out.append(digits, end);
}

}  // namespace

void append_json_string(std::string& out, std::string_view text) {
  out.push_back('"');
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t run = i;
    while (run < text.size() && plain_bytes[static_cast<unsigned char>(text[run])]) ++run;
    out.append(text, i, run - i);
    i = run;
    if (i == text.size()) break;
    if (static_cast<unsigned char>(text[i]) < 0x80) {
      append_escape(out, text[i]);
      ++i;
    } else if (const std::size_t length = utf8_sequence_length(text.substr(i)); length > 0) {
      out.append(text, i, length);
      i += length;
    } else {
      out.append(replacement_character);
      ++i;
    }
  }
  out.push_back('"');
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) {
    raw("null");
    return;
  }
  separate();
  append_number(out_, number);
}

void JsonWriter::signed_value(long long number) {
  separate();
  append_number(out_, number);
}

void JsonWriter::unsigned_value(unsigned long long number) {
  separate();
  append_number(out_, number);
}

}  // namespace oncekey
