// `oncekey completions`: scripts that let a shell complete the program's commands and flags,
// written from their definitions.
#pragma once

#include <string>

#include "cli/definition.h"

namespace oncekey::cli {

std::string bash_completions(const Definition& program);
std::string zsh_completions(const Definition& program);
std::string fish_completions(const Definition& program);

// `argv[0]` is the command's own name. Returns the exit code.
int run_completions(int argc, const char* const* argv, const Surroundings& surroundings);

}  // namespace oncekey::cli
