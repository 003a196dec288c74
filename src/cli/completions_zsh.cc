#include "cli/completions.h"

namespace oncekey::cli {
namespace {

// For a word in single quotes, with what _arguments or _describe would take for their own escaped.
std::string quoted(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    if (c == '\'') {
      out += "'\\''";
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out;
}

std::string action_of(const FlagDefinition& flag) {
  if (!flag.choices.empty()) {
    std::string list;
    for (const std::string& choice : flag.choices) list += (list.empty() ? "" : " ") + choice;
    return "(" + list + ")";
  }
  if (flag.takes_file()) return "_files";
  if (flag.takes_folder()) return "_files -/";
  return " ";
}

std::string describe(const std::vector<Definition>& children, const std::string& indent) {
  std::string out = indent + "names=(\n";
  for (const Definition& child : children) {
    const std::string name = child.name.substr(child.name.rfind(' ') + 1);
    out += indent + "  '" + name + ":" + quoted(first_sentence(child.about), ":\\") + "'\n";
  }
  return out + indent + ")\n";
}

std::string arguments_of(const Definition& command) {
  std::string out = "    '" + command.name + "')\n      _arguments -s";
  for (const FlagDefinition& flag : command.flags) {
    const std::string about = "[" + quoted(flag.about, "[]:\\") + "]";
    const std::string value =
        flag.value.empty() ? ""
                           : ":" + quoted(flag.value, ":\\") + ":" + quoted(action_of(flag), ":\\");
    for (const std::string& name : flag.names) {
      out += " \\\n        '" + std::string(flag.repeated ? "*" : "") + name + about + value + "'";
    }
  }
  for (const FlagDefinition& argument : command.arguments) {
    const std::string action = command.name == "audit" ? "_files" : action_of(argument);
    out += " \\\n        '" + std::string(argument.repeated ? "*" : "") + ":" +
           quoted(argument.value, ":\\") + ":" + quoted(action, ":\\") + "'";
  }
  return out + " ;;\n";
}

}  // namespace

std::string zsh_completions(const Definition& program) {
  std::string groups, group_names, cases;
  for (const Definition& command : program.children) {
    if (command.children.empty()) {
      cases += arguments_of(command);
      continue;
    }
    groups += (groups.empty() ? "" : "|") + command.name;
    group_names += "          " + command.name + ")\n" +
                   describe(command.children, "            ") + "            ;;\n";
    for (const Definition& child : command.children) cases += arguments_of(child);
  }
  return "#compdef oncekey\n"
         "# zsh completion for oncekey; written by `oncekey completions zsh`.\n"
         "_oncekey() {\n"
         "  local -a names\n"
         "  if ((CURRENT == 2)); then\n" +
         describe(program.children, "    ") +
         "    _describe -t commands 'oncekey command' names\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  ((CURRENT--))\n"
         "  case $command in\n"
         "    " +
         groups +
         ")\n"
         "      if ((CURRENT == 2)); then\n"
         "        case $command in\n" +
         group_names +
         "        esac\n"
         "        _describe -t commands \"oncekey $command command\" names\n"
         "        return\n"
         "      fi\n"
         "      command=\"$command $words[2]\"\n"
         "      shift words\n"
         "      ((CURRENT--)) ;;\n"
         "  esac\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "_oncekey \"$@\"\n";
}

}  // namespace oncekey::cli
