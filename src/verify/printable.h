// Text of others, fit to be shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace oncekey::verify {

// What an API sent, fit for a terminal: no control characters, well-formed UTF-8.
std::string printable(std::string_view text);
// The same for HTML and XML, where markup becomes text.
std::string escape_markup(std::string_view text);

// In characters, as a terminal with a plain font shows them.
std::size_t width_of(std::string_view text);
// Blanks are added up to `width`; what is wider stays as it is.
std::string padded(std::string_view text, std::size_t width);

// "1 promise is", "3 promises are".
std::string times(int count, std::string_view one, std::string_view many);

}  // namespace oncekey::verify
