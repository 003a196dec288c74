#include "cli/completions.h"

#include <ostream>

#include "cli/flags.h"

namespace oncekey::cli {

int run_completions(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Print a script that lets a shell complete commands and flags.",
               "oncekey completions");
  std::string shell;
  app.add_option("shell", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.footer(
      "bash: oncekey completions bash >~/.local/share/bash-completion/completions/oncekey\n"
      "zsh: a file _oncekey in a folder of $fpath\n"
      "fish: oncekey completions fish >~/.config/fish/completions/oncekey.fish");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const Definition program = definition_of_program();
  if (shell == "bash") surroundings.out << bash_completions(program);
  if (shell == "zsh") surroundings.out << zsh_completions(program);
  if (shell == "fish") surroundings.out << fish_completions(program);
  return exit_good;
}

}  // namespace oncekey::cli
