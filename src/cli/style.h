// Colours, where somebody looks.
#pragma once

#include <string>
#include <string_view>

namespace oncekey::cli {

enum class Tone { plain, bold, faint, good, bad, doubtful, busy };

struct Style {
  bool colour = false;

  std::string paint(std::string_view text, Tone tone) const;
};

// Only on a terminal that has them, and not when NO_COLOR is set (to anything but "").
Style style_of_output(const char* const* environment);

// Of a record's state, a message's state, or a request's decision.
Tone tone_of(std::string_view word);

}  // namespace oncekey::cli
