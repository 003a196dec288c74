#include "cli/visible.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "boundary/utf8.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

bool is_control(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) ||
         (code >= 0x200b && code <= 0x200f) ||  // no width, or a change of direction
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

std::string escape(const char* format, std::uint32_t code) {
  char text[16];
  std::snprintf(text, sizeof text, format, code);
  return text;
}

}  // namespace

std::string visible(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_sequence_length(text);
    const std::string_view sequence = text.substr(0, std::max<std::size_t>(size, 1));
    const std::uint32_t code =
        size == 0 ? static_cast<unsigned char>(text[0]) : utf8_code_point(sequence);
    if (code == '\n') {
      out += "\\n";
    } else if (code == '\t') {
      out += "\\t";
    } else if (size == 0 || (is_control(code) && code < 0x80)) {
      out += escape("\\x%02x", code);
    } else if (is_control(code)) {
      out += escape("\\u%04x", code);
    } else {
      out += sequence;
    }
    text.remove_prefix(sequence.size());
  }
  return out;
}

std::string visible_json(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const std::size_t size = utf8_sequence_length(json);
    const std::string_view sequence = json.substr(0, std::max<std::size_t>(size, 1));
    const bool structure = sequence == "\n";  // the only one below 0x20 that is not in a string
    if (size > 0 && !structure && is_control(utf8_code_point(sequence))) {
      out += escape("\\u%04x", utf8_code_point(sequence));
    } else {
      out += sequence;
    }
    json.remove_prefix(sequence.size());
  }
  return out;
}

std::string cut(const std::string& text, std::size_t width) {
  if (verify::width_of(text) <= width) return text;
  std::string_view rest = text;
  std::string out;
  for (std::size_t taken = 0; taken + 1 < width; ++taken) {
    const std::size_t size = std::max<std::size_t>(utf8_sequence_length(rest), 1);
    out += rest.substr(0, size);
    rest.remove_prefix(size);
  }
  return out + "…";
}

}  // namespace oncekey::cli
