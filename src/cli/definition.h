// What a command takes, as it declares it: for completions and the manual.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"

namespace oncekey::cli {

struct FlagDefinition {
  std::vector<std::string> names;  // with their dashes; of an argument none
  std::string value;               // FILE, N, …; "": it takes none. Of an argument its name
  std::vector<std::string> choices;
  std::string about;
  std::string group;
  bool required = false;
  bool repeated = false;

  bool takes_file() const { return value == "FILE"; }
  bool takes_folder() const { return value == "DIR"; }
};

struct Definition {
  std::string name;   // "key list"; "" for the program
  std::string about;  // sentences
  std::string footer;
  std::vector<FlagDefinition> flags;
  std::vector<FlagDefinition> arguments;
  std::vector<Definition> children;
};

// `parent` "": it is none's child.
Definition definition_of(const Command& command, const std::string& parent = "");
// All commands are its children.
Definition definition_of_program();

std::string first_sentence(const std::string& text);  // without its full stop

}  // namespace oncekey::cli
