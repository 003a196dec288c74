// Parsing a command's flags, the same way for every command.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <ostream>
#include <sstream>
#include <string>

#include "cli/exit_code.h"

namespace oncekey::cli {

// Who wants to know a command's flags, for completions and the manual, and not to run it; null:
// nobody. Set by definition_of() alone.
inline thread_local const std::function<void(const CLI::App&)>* definition_wanted = nullptr;

// What is wrong, as the parser puts it. It repeats a word that it did not understand, which may be
// a store's URL behind a mistyped flag: without the passwords in such.
std::string without_passwords_of(int argc, const char* const* argv, std::string text);

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
    std::ostringstream problem;
    app.exit(error, out, problem);
    err << without_passwords_of(argc, argv, problem.str());
    return asked_for_help ? exit_good : exit_usage;
  }
  return std::nullopt;
}

}  // namespace oncekey::cli
