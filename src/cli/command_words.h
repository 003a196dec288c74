// What the admin port says, in the words of somebody who gave a command: it speaks to programs, of
// requests and their members.
#pragma once

#include <string>
#include <string_view>

namespace oncekey::cli {

std::string in_command_words(std::string_view detail);

}  // namespace oncekey::cli
