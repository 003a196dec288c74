#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "gateway/config_draft.h"
#include "gateway/config_settings.h"

namespace oncekey::gateway {
namespace {

constexpr std::string_view prefix = "ONCEKEY_";
// Secrets themselves, read where they are needed and never kept in the configuration.
constexpr std::string_view admin_token_variable = "ONCEKEY_ADMIN_TOKEN";
constexpr std::array secret_variables{std::string_view("ONCEKEY_SECRET"),
                                      std::string_view("ONCEKEY_ENCRYPTION_KEYS"),
                                      admin_token_variable};

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    parts.emplace_back(text.substr(0, comma));
    text = comma == text.npos ? std::string_view{} : text.substr(comma + 1);
  }
  return parts;
}

// Text that does not read as the kind stays text; the setting then says what it expected.
SettingValue value_of(ValueKind kind, std::string_view text) {
  if (kind == ValueKind::boolean && (text == "true" || text == "1")) return true;
  if (kind == ValueKind::boolean && (text == "false" || text == "0")) return false;
  if (kind == ValueKind::texts) return split_list(text);
  if (kind == ValueKind::integer) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) return number;
  }
  return std::string(text);
}

}  // namespace

std::string variable_name(std::string_view setting_name) {
  std::string name(prefix);
  for (const char c : setting_name) {
    name.push_back(c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
  }
  return name;
}

void set_from_text(ConfigDraft& draft, std::string_view name, std::string_view text,
                   const SourcePosition& position) {
  for (const Setting<Config>& setting : gateway_settings()) {
    if (setting.name != name) continue;
    draft.positions[std::string(name)] = position;
    if (auto problem = setting.set(draft.config, value_of(setting.kind, text))) {
      draft.errors.push_back({position.file, position.line, position.column,
                              std::string(name) + ": " + problem->message, problem->hint});
    }
  }
}

void read_environment(ConfigDraft& draft, const char* const* variables) {
  std::vector<std::string> names;  // without the prefix all share, which would make all look near
  for (const Setting<Config>& setting : gateway_settings()) {
    names.push_back(variable_name(setting.name).substr(prefix.size()));
  }
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (; *variables != nullptr; ++variables) {
    const std::string_view variable = *variables;
    const std::size_t equals = variable.find('=');
    if (!variable.starts_with(prefix) || equals == variable.npos) continue;
    const std::string name(variable.substr(0, equals));
    if (name == admin_token_variable) draft.config.admin_token_set = true;
    if (std::find(secret_variables.begin(), secret_variables.end(), name) !=
        secret_variables.end()) {
      continue;
    }
    bool found = false;
    for (std::size_t i = 0; i < known.size() && !found; ++i) {
      found = name.substr(prefix.size()) == known[i];
      if (!found) continue;
      set_from_text(draft, gateway_settings()[i].name, variable.substr(equals + 1), {name, 0, 0});
    }
    if (found) continue;
    // Orchestrators make up variables (ONCEKEY_PORT, ONCEKEY_SERVICE_HOST), so a foreign one is no
    // error; one that is nearly a setting is worth a word.
    const std::string near = nearest_name(name.substr(prefix.size()), known);
    if (near.empty()) continue;
    draft.warnings.push_back(
        {name, 0, 0, "is not a known variable", "did you mean " + variable_name(near) + "?"});
  }
}

}  // namespace oncekey::gateway
