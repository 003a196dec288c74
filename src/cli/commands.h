// The program's commands. The table is all there is: main runs them by it, and completions and the
// manual are written from it and from the flags that each command declares.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/serve_options.h"

namespace oncekey::cli {

using Run = int (*)(int argc, const char* const* argv, const Surroundings& surroundings);

struct Command {
  std::string_view name;
  Run run = nullptr;            // null: it has children
  std::string_view about = "";  // of one with children
  std::vector<Command> children = {};
};

const std::vector<Command>& commands();

// Null: there is none of that name.
const Command* find_command(const std::vector<Command>& among, std::string_view name);

// `argv[0]` is the command's own name. Of one with children the next word says which.
int run_command(const Command& command, int argc, const char* const* argv,
                const Surroundings& surroundings);

}  // namespace oncekey::cli
