#include "cli/definition.h"

#include <sstream>

#include "cli/flags.h"

namespace oncekey::cli {
namespace {

// "STATE:{a,b}" is a value's name and its choices; "N:POSITIVE" a name and a check of it.
void read_value(const std::string& text, FlagDefinition& flag) {
  flag.value = text;
  const std::size_t choices = text.find(":{");
  if (choices != std::string::npos) {
    flag.value = text.substr(0, choices);
    std::istringstream list(text.substr(choices + 2, text.size() - choices - 3));
    for (std::string choice; std::getline(list, choice, ',');) flag.choices.push_back(choice);
    return;
  }
  for (const std::string_view check : {":POSITIVE", ":NONNEGATIVE", ":NUMBER"}) {
    if (text.ends_with(check)) flag.value = text.substr(0, text.size() - check.size());
  }
  const std::size_t range = text.find(" in [");
  const std::size_t colon = text.rfind(':', range);
  if (range == std::string::npos) return;
  flag.value = colon == std::string::npos ? "N" : text.substr(0, colon);
}

FlagDefinition read_option(const CLI::Option& option) {
  FlagDefinition flag;
  for (const std::string& name : option.get_snames()) flag.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) flag.names.push_back("--" + name);
  if (option.get_type_size() != 0) read_value(option.get_type_name(), flag);
  flag.about = option.get_description();
  flag.group = option.get_group();
  flag.required = option.get_required();
  flag.repeated = option.get_items_expected_max() > 1;
  return flag;
}

void read_app(const CLI::App& app, Definition& definition) {
  definition.about = app.get_description();
  definition.footer = app.get_footer();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    FlagDefinition flag = read_option(*option);
    if (option->get_positional()) {
      flag.value = option->get_name(true);
      for (char& c : flag.value) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
      definition.arguments.push_back(std::move(flag));
    } else {
      definition.flags.push_back(std::move(flag));
    }
  }
}

}  // namespace

Definition definition_of(const Command& command, const std::string& parent) {
  Definition definition;
  definition.name = (parent.empty() ? "" : parent + " ") + std::string(command.name);
  definition.about = command.about;
  for (const Command& child : command.children) {
    definition.children.push_back(definition_of(child, std::string(command.name)));
  }
  if (command.run == nullptr) return definition;
  const std::function<void(const CLI::App&)> read = [&](const CLI::App& app) {
    read_app(app, definition);
  };
  const char* const no_environment[] = {nullptr};
  const std::string name(command.name);
  const char* const argv[] = {name.c_str(), nullptr};
  std::ostringstream unused;
  const auto* before = definition_wanted;
  definition_wanted = &read;
  command.run(1, argv, {no_environment, unused, unused});
  definition_wanted = before;
  return definition;
}

Definition definition_of_program() {
  Definition program;
  program.about = "Make state-changing HTTP APIs safe to retry.";
  for (const Command& command : commands()) program.children.push_back(definition_of(command));
  return program;
}

std::string first_sentence(const std::string& text) {
  const std::size_t end = text.find(". ");
  std::string sentence = text.substr(0, end);
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

}  // namespace oncekey::cli
