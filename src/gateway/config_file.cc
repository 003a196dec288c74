#include "gateway/config_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "gateway/config_settings.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace oncekey::gateway {
namespace {

// A configuration is written by hand; anything larger is the wrong file.
constexpr std::size_t file_size_max = 4 << 20;

std::string describe_type(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "a list";
    case toml::node_type::floating_point:
      return "a number with a fraction";
    case toml::node_type::date:
    case toml::node_type::time:
    case toml::node_type::date_time:
      return "a date or time";
    case toml::node_type::boolean:
      return "a boolean";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::string:
    case toml::node_type::none:
      break;
  }
  return "a string";
}

std::string_view expected_type(ValueKind kind) {
  switch (kind) {
    case ValueKind::text:
    case ValueKind::choice:
      return "a string";
    case ValueKind::boolean:
      return "true or false";
    case ValueKind::integer:
      return "an integer";
    case ValueKind::size:
      return "a size such as \"64KiB\"";
    case ValueKind::duration:
      return "a duration such as \"30s\"";
    case ValueKind::texts:
      return "a list of strings";
  }
  return "a string";
}

class Reader {
 public:
  Reader(ConfigDraft& draft, const std::string& file) : draft_(draft), file_(file) {}

  void read(const toml::table& root) {
    read_table(root, "", "", draft_.config, gateway_settings());
  }

 private:
  void error(const toml::source_position& at, std::string message, std::string hint = {}) {
    draft_.errors.push_back({file_, at.line, at.column, std::move(message), std::move(hint)});
  }

  void note(const std::string& name, const toml::source_position& at) {
    draft_.positions[name] = {file_, at.line, at.column};
  }

  // `prefix`: the name so far within `settings`; `place`: what stands before that, "route.0.".
  template <class Target>
  void read_table(const toml::table& table, const std::string& prefix, const std::string& place,
                  Target& target, const std::vector<Setting<Target>>& settings) {
    for (auto&& [key, node] : table) {
      const std::string name = prefix + std::string(key.str());
      if (place.empty() && name == "route") {
        read_list(node, name, "match", "match = \"POST /payments/*\"", draft_.config.routes,
                  route_settings());
        continue;
      }
      if (place.empty() && name == "sink") {
        read_list(node, name, "name", "name = \"provider\"", draft_.config.sinks, sink_settings());
        continue;
      }
      if (place.empty() && name == "limits.tenant") {
        read_list(node, name, "name", "name = \"acme\"", draft_.config.limits.tenants,
                  tenant_limit_settings());
        continue;
      }
      const Setting<Target>* known = nullptr;
      bool group = false;
      for (const Setting<Target>& setting : settings) {
        if (setting.name == name) known = &setting;
        if (setting.name.starts_with(name + ".")) group = true;
      }
      if (known != nullptr) {
        read_value(node, *known, place, target);
      } else if (group && node.is_table()) {
        read_table(*node.as_table(), name + ".", place, target, settings);
      } else if (group) {
        error(node.source().begin, name + ": expected a table, found " + describe_type(node),
              place.empty() ? "[" + name + "]" : name + " = { ... }");
      } else {
        unknown_key(key.source().begin, name, place, settings);
      }
    }
  }

  template <class Target>
  void read_value(const toml::node& node, const Setting<Target>& setting, const std::string& place,
                  Target& target) {
    const toml::source_position at = node.source().begin;
    const std::string name(setting.name);
    SettingValue value;
    if (const auto* text = node.as_string()) {
      value = text->get();
    } else if (const auto* number = node.as_integer()) {
      value = number->get();
    } else if (const auto* truth = node.as_boolean()) {
      value = truth->get();
    } else if (const auto* list = node.as_array();
               list != nullptr && setting.kind == ValueKind::texts) {
      std::vector<std::string> texts;
      for (const toml::node& element : *list) {
        if (const auto* element_text = element.as_string()) {
          texts.push_back(element_text->get());
        } else {
          error(element.source().begin,
                name + ": expected a string, found " + describe_type(element));
          return;
        }
      }
      value = std::move(texts);
    } else {
      error(at, name + ": expected " + std::string(expected_type(setting.kind)) + ", found " +
                    describe_type(node));
      return;
    }
    note(place + name, at);
    if (std::optional<SettingProblem> problem = setting.set(target, value)) {
      const toml::node& culprit =
          problem->element ? *node.as_array()->get(*problem->element) : node;
      error(culprit.source().begin, name + ": " + problem->message, problem->hint);
    }
  }

  // Tables in double brackets, each with at least the setting `needed`.
  template <class Target>
  void read_list(const toml::node& node, const std::string& kind, std::string_view needed,
                 const std::string& example, std::vector<Target>& targets,
                 const std::vector<Setting<Target>>& settings) {
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      error(node.source().begin, kind + ": expected a list of tables, found " + describe_type(node),
            "each " + kind + " starts with [[" + kind + "]], in double brackets");
      return;
    }
    for (const toml::node& element : *list) {
      const toml::table* table = element.as_table();
      if (table == nullptr) {
        error(element.source().begin, kind + ": expected a table, found " + describe_type(element),
              "each " + kind + " starts with [[" + kind + "]]");
        continue;
      }
      const std::string place = kind + "." + std::to_string(targets.size());
      note(place, element.source().begin);
      if (!table->contains(needed)) {
        error(element.source().begin, std::string(needed) + " is missing", example);
      }
      read_table(*table, "", place + ".", targets.emplace_back(), settings);
    }
  }

  template <class Target>
  void unknown_key(const toml::source_position& at, const std::string& name,
                   const std::string& place, const std::vector<Setting<Target>>& settings) {
    if (std::optional<std::string> later = unsupported_setting(name)) {
      error(at, *later);
      return;
    }
    std::vector<std::string_view> names;
    for (const Setting<Target>& setting : settings) names.push_back(setting.name);
    error(at, "unknown key \"" + name + "\"", unknown_key_hint(name, place, names));
  }

  // A key in the wrong place is told where it belongs; a mistyped one, what it may have been.
  static std::string unknown_key_hint(const std::string& name, const std::string& place,
                                      std::vector<std::string_view> names) {
    for (const Setting<RouteConfig>& setting : route_settings()) {
      if (place.empty() && setting.name == name) return "it belongs into a [[route]]";
    }
    for (const Setting<outbox::SinkConfig>& setting : sink_settings()) {
      if (place.empty() && setting.name == name) return "it belongs into a [[sink]]";
    }
    for (const Setting<Config>& setting : gateway_settings()) {
      if (!place.empty() && setting.name == name) return "it must stand before the first [table]";
    }
    if (place.empty()) names.insert(names.end(), {"route", "sink"});
    const std::string near = nearest_name(name, names);
    return near.empty() ? "" : "did you mean \"" + near + "\"?";
  }

  ConfigDraft& draft_;
  const std::string& file_;
};

std::optional<std::string> read_whole_file(const std::string& path, int& error) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    error = errno;
    return std::nullopt;
  }
  std::string text;
  char buffer[16 << 10];
  ssize_t count = 0;
  while ((count = ::read(file, buffer, sizeof buffer)) > 0 && text.size() <= file_size_max) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  error = count < 0 ? errno : (text.size() > file_size_max ? EFBIG : 0);
  ::close(file);
  if (error != 0) return std::nullopt;
  return text;
}

}  // namespace

void read_config_text(ConfigDraft& draft, std::string_view text, const std::string& file_name) {
  const toml::parse_result result = toml::parse(text, file_name);
  if (!result) {
    const toml::parse_error& problem = result.error();
    const toml::source_position at = problem.source().begin;
    draft.errors.push_back({file_name,
                            at.line,
                            at.column,
                            "not valid TOML: " + std::string(problem.description()),
                            {}});
    return;
  }
  Reader(draft, file_name).read(result.table());
}

void read_config_file(ConfigDraft& draft, const std::string& path) {
  int error = 0;
  const std::optional<std::string> text = read_whole_file(path, error);
  if (text) {
    read_config_text(draft, *text, path);
  } else {
    draft.errors.push_back(
        {path, 0, 0, "cannot be read: " + std::string(std::strerror(error)), {}});
  }
}

Result<LoadedConfig, ConfigErrors> parse_config(std::string_view text,
                                                const std::string& file_name) {
  ConfigDraft draft;
  read_config_text(draft, text, file_name);
  return finish_config(std::move(draft), Upstream::optional);
}

Result<LoadedConfig, ConfigErrors> load_config_file(const std::string& path) {
  ConfigDraft draft;
  read_config_file(draft, path);
  return finish_config(std::move(draft), Upstream::optional);
}

}  // namespace oncekey::gateway
