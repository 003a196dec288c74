// A verdict on a terminal.
#pragma once

#include <string>
#include <string_view>

#include "verify/verdict.h"

namespace oncekey::verify {

struct TextStyle {
  bool colour = false;
};

// All of one width.
std::string_view mark(Verdict verdict);
inline constexpr std::size_t mark_width = 7;

std::string painted(std::string_view text, Verdict verdict, const TextStyle& style);

}  // namespace oncekey::verify
