#include "cli/completions.h"

namespace oncekey::cli {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

void append_command(std::string& out, const Definition& command) {
  const std::string start = "complete -c oncekey -n '__oncekey_at " + command.name + "'";
  for (const FlagDefinition& flag : command.flags) {
    out += start;
    for (const std::string& name : flag.names) {
      const bool is_long = name.starts_with("--");
      out += (is_long ? " -l " : " -s ") + name.substr(is_long ? 2 : 1);
    }
    if (!flag.choices.empty()) {
      out += " -x -a " + quoted(joined(flag.choices));
    } else if (flag.takes_file() || flag.takes_folder()) {
      out += " -r -F";
    } else if (!flag.value.empty()) {
      out += " -x";
    }
    out += " -d " + quoted(flag.about) + "\n";
  }
  for (const FlagDefinition& argument : command.arguments) {
    if (!argument.choices.empty()) out += start + " -a " + quoted(joined(argument.choices)) + "\n";
  }
  if (command.name == "audit") out += start + " -F\n";  // its argument is a document
}

void append_names(std::string& out, const std::string& parent,
                  const std::vector<Definition>& children) {
  for (const Definition& child : children) {
    const std::string name = child.name.substr(child.name.rfind(' ') + 1);
    out += "complete -c oncekey -n '__oncekey_below" + (parent.empty() ? "" : " " + parent) +
           "' -a " + name + " -d " + quoted(first_sentence(child.about)) + "\n";
  }
}

}  // namespace

std::string fish_completions(const Definition& program) {
  std::string out =
      "# fish completion for oncekey; written by `oncekey completions fish`.\n"
      "# The words before the cursor begin with the program and these.\n"
      "function __oncekey_at\n"
      "  set -l words (commandline -opc)\n"
      "  set -l last (math 1 + (count $argv))\n"
      "  test (count $words) -ge $last; and test \"$words[2..$last]\" = \"$argv\"\n"
      "end\n"
      "# The next word is a command below these.\n"
      "function __oncekey_below\n"
      "  set -l words (commandline -opc)\n"
      "  test (count $words) -eq (math 1 + (count $argv)); or return 1\n"
      "  test (count $argv) -eq 0; or test \"$words[2..-1]\" = \"$argv\"\n"
      "end\n"
      "complete -c oncekey -f\n";
  append_names(out, "", program.children);
  for (const Definition& command : program.children) {
    if (command.children.empty()) append_command(out, command);
    append_names(out, command.name, command.children);
    for (const Definition& child : command.children) append_command(out, child);
  }
  return out;
}

}  // namespace oncekey::cli
