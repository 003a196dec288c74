// Text inside of HTML or XML, also within quotes.
#pragma once

#include <string>
#include <string_view>

namespace oncekey {

std::string escape_html(std::string_view text);

}  // namespace oncekey
