// Numbers as text, without a formatting library: on the path of every request.
#pragma once

#include <charconv>
#include <concepts>
#include <string>

namespace oncekey::http {

template <std::integral T>
void append_decimal(std::string& out, T number) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

}  // namespace oncekey::http
