#include "cli/completions.h"

namespace oncekey::cli {
namespace {

std::string names_of(const std::vector<Definition>& children) {
  std::string names;
  for (const Definition& child : children) {
    names += (names.empty() ? "" : " ") + child.name.substr(child.name.rfind(' ') + 1);
  }
  return names;
}

std::string flags_of(const Definition& command) {
  std::string names;
  for (const FlagDefinition& flag : command.flags) {
    for (const std::string& name : flag.names) names += (names.empty() ? "" : " ") + name;
  }
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// What a flag's value or an argument may be: words to choose from, a file, or nothing we know.
std::string value_action(const FlagDefinition& flag) {
  if (!flag.choices.empty()) return "words='" + joined(flag.choices) + "'";
  if (flag.takes_file()) return "kind=file";
  if (flag.takes_folder()) return "kind=folder";
  return "kind=other";
}

void append_values(std::string& out, const Definition& command) {
  for (const FlagDefinition& flag : command.flags) {
    if (flag.value.empty()) continue;
    std::string patterns;
    for (const std::string& name : flag.names) {
      patterns += (patterns.empty() ? "'" : " | '") + command.name + " " + name + "'";
    }
    out += "    " + patterns + ") " + value_action(flag) + " ;;\n";
  }
}

void append_words(std::string& out, const Definition& command) {
  std::string arguments = "kind=other";
  if (!command.arguments.empty() && !command.arguments.front().choices.empty()) {
    arguments = "words='" + joined(command.arguments.front().choices) + "'";
  } else if (command.name == "audit") {
    arguments = "kind=file";  // its argument is a document
  }
  out += "      '" + command.name + "') flags='" + flags_of(command) + "' " + arguments + " ;;\n";
}

}  // namespace

std::string bash_completions(const Definition& program) {
  std::string groups, group_words, values, words;
  for (const Definition& command : program.children) {
    if (command.children.empty()) {
      append_values(values, command);
      append_words(words, command);
      continue;
    }
    groups += (groups.empty() ? "" : " | ") + command.name;
    group_words += "      " + command.name + ") words='" + names_of(command.children) + "' ;;\n";
    for (const Definition& child : command.children) {
      append_values(values, child);
      append_words(words, child);
    }
  }
  return "# bash completion for oncekey; written by `oncekey completions bash`.\n"
         "_oncekey() {\n"
         "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
         "  local command=${COMP_WORDS[1]} at=2 words='' flags='' kind=''\n"
         "  COMPREPLY=()\n"
         "  # --flag=value comes as three words\n"
         "  if [[ $cur == = ]]; then\n"
         "    cur=''\n"
         "  elif [[ $prev == = ]]; then\n"
         "    prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
         "  fi\n"
         "  case $command in\n"
         "    " +
         groups +
         ")\n"
         "      command+=\" ${COMP_WORDS[2]}\" at=3 ;;\n"
         "  esac\n"
         "  if ((COMP_CWORD == 1)); then\n"
         "    words='" +
         names_of(program.children) +
         " help version'\n"
         "  elif ((COMP_CWORD < at)); then\n"
         "    case ${COMP_WORDS[1]} in\n" +
         group_words +
         "    esac\n"
         "  else\n"
         "  case \"$command $prev\" in\n" +
         values +
         "    *)\n"
         "    case $command in\n" +
         words +
         "    esac\n"
         "    if [[ $cur == -* ]]; then words=$flags kind=''; fi ;;\n"
         "  esac\n"
         "  fi\n"
         "  case $kind in\n"
         "    file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\"); compopt -o filenames "
         "2>/dev/null ;;\n"
         "    folder) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"); compopt -o filenames "
         "2>/dev/null ;;\n"
         "    other) ;;\n"
         "    *) mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\") ;;\n"
         "  esac\n"
         "}\n"
         "complete -F _oncekey oncekey\n";
}

}  // namespace oncekey::cli
