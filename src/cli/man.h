// `oncekey man`: the manual, written from the commands' definitions.
#pragma once

#include <string>

#include "cli/definition.h"

namespace oncekey::cli {

struct ManPage {
  std::string name;  // "oncekey-key-list"
  std::string text;  // troff, with the man macros
};

// The program's own page, and one for each command below it.
std::vector<ManPage> man_pages(const Definition& program, const std::string& version);

// `argv[0]` is the command's own name. Returns the exit code.
int run_man(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
