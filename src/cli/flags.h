// Parsing a command's flags, the same way for every command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <ostream>

#include "cli/exit_code.h"

namespace oncekey::cli {

// Who wants to know a command's flags, for completions and the manual, and not to run it; null:
// nobody. Set by definition_of() alone.
inline thread_local const std::function<void(const CLI::App&)>* definition_wanted = nullptr;

// Empty: go on. Otherwise the exit code to end with; help or what was wrong has been printed.
inline std::optional<int> parse_flags(CLI::App& app, int argc, const char* const* argv,
                                      std::ostream& out, std::ostream& err) {
  if (definition_wanted != nullptr) {
    (*definition_wanted)(app);
    return exit_good;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error, out, err);
    return asked_for_help ? exit_good : exit_usage;
  }
  return std::nullopt;
}

}  // namespace oncekey::cli
