#include "verify/printable.h"

#include <algorithm>

#include "boundary/html.h"
#include "boundary/utf8.h"

namespace oncekey::verify {

std::string printable(std::string_view text) {
  constexpr std::string_view replacement = "\uFFFD";
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_sequence_length(text);
    const auto lead = static_cast<unsigned char>(text.front());
    const bool control = (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f ||
                         (lead == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0);
    out += size == 0 || control ? replacement : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  return escape_html(printable(text));
}

std::size_t width_of(std::string_view text) {
  const auto starts_character = [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), starts_character));
}

std::string padded(std::string_view text, std::size_t width) {
  std::string out(text);
  const std::size_t taken = width_of(text);
  if (taken < width) out.append(width - taken, ' ');
  return out;
}

std::string times(int count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

}  // namespace oncekey::verify
