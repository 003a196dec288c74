#include "audit/coverage.h"

#include <algorithm>

#include "audit/path_template.h"

namespace oncekey::audit {
namespace {

// No route names it.
constexpr const char* any_value = "oncekey-audit-sample";
constexpr std::size_t choices_max = 100;

Protection::Kind kind_of(const gateway::Route* route) {
  if (route == nullptr) return Protection::Kind::none;
  switch (route->config.key) {
    case gateway::KeyUse::off:
      return Protection::Kind::off;
    case gateway::KeyUse::optional:
      return Protection::Kind::optional;
    case gateway::KeyUse::required:
      return Protection::Kind::required;
  }
  return Protection::Kind::none;
}

std::string shown(std::string target) {
  const std::string_view any = any_value;
  for (std::size_t at = target.find(any); at != std::string::npos; at = target.find(any, at)) {
    target.replace(at, any.size(), "*");
  }
  return target;
}

Protection protection_by(const gateway::Route* route, const std::string& target) {
  Protection out;
  out.kind = kind_of(route);
  out.target = shown(target);
  if (route == nullptr) return out;
  out.match = route->config.match;
  out.number = route->index + 1;
  out.key_header = route->config.key_header;
  out.key_in_body = !route->config.key_pointer.empty();
  out.fail_open = route->config.fail_open;
  return out;
}

bool weaker(const Protection& a, const Protection& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  return a.fail_open && !b.fail_open;
}

// The template's path that the route is about, if it stands for one: its parameters take what the
// route has at their place.
std::string meeting(std::string_view path, std::string_view route_path) {
  const auto theirs = segments_of(route_path);
  const auto ours = segments_of(path);
  std::string out;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const bool named = i < theirs.size() && theirs[i] != "*" && !theirs[i].empty();
    const std::string_view segment = has_parameter(ours[i]) && named ? theirs[i] : ours[i];
    out += "/" + std::string(segment);
  }
  return out;
}

std::string some_value(const Operation& operation, std::string_view name) {
  for (const UrlParameter& each : operation.parameters) {
    const bool listed = each.in_path && each.name == name && !each.choices.empty();
    if (listed) return percent_encoded(each.choices.front());
  }
  return any_value;
}

void add(std::vector<std::string>& samples, const Operation& operation, std::string path) {
  path = filled(path, [&](std::string_view name) { return some_value(operation, name); });
  if (std::find(samples.begin(), samples.end(), path) == samples.end()) {
    samples.push_back(std::move(path));
  }
}

std::size_t parameters_in(std::string_view path) {
  return static_cast<std::size_t>(std::count(path.begin(), path.end(), '{'));
}

}  // namespace

std::string_view to_string(Protection::Kind kind) {
  switch (kind) {
    case Protection::Kind::none:
      return "none";
    case Protection::Kind::off:
      return "off";
    case Protection::Kind::optional:
      return "optional";
    case Protection::Kind::required:
      return "required";
  }
  return "";
}

// OpenAPI: a path without parameters goes before a template that stands for it, too.
bool Coverage::belongs_elsewhere(const std::string& path, const Operation& operation) const {
  const auto is_nearer = [&](const Operation& other) {
    return parameters_in(other.path) < parameters_in(operation.path) && covers(other.path, path);
  };
  return std::any_of(api_.operations.begin(), api_.operations.end(), is_nearer);
}

std::vector<std::string> Coverage::samples_of(const Operation& operation) const {
  std::vector<std::string> samples;
  add(samples, operation, operation.path);
  for (const UrlParameter& parameter : operation.parameters) {
    if (!parameter.in_path || parameter.choices.size() > choices_max) continue;
    for (const std::string& choice : parameter.choices) {
      add(samples, operation, filled(operation.path, [&](std::string_view name) {
            return name == parameter.name ? percent_encoded(choice) : "{" + std::string(name) + "}";
          }));
    }
  }
  const std::string general = samples.front();
  std::erase_if(samples, [&](const std::string& path) {
    return path != general && belongs_elsewhere(path, operation);
  });
  return samples;
}

Protection Coverage::of(const Operation& operation,
                        const std::vector<std::string>& base_paths) const {
  Protection weakest;
  bool first = true;
  const auto look_at = [&](const std::string& target) {
    const Protection found = protection_by(routes_.match(operation.method, target), target);
    if (first || weaker(found, weakest)) weakest = found;
    first = false;
  };
  for (const std::string& base : base_paths.empty() ? operation.base_paths : base_paths) {
    for (const std::string& sample : samples_of(operation)) look_at(base + sample);
    for (const gateway::Route& route : routes_.routes()) {
      std::vector<std::string> met;
      add(met, operation, meeting(base + operation.path, route.config.path));
      const std::string own = met.front().substr(std::min(base.size(), met.front().size()));
      if (!belongs_elsewhere(own, operation)) look_at(met.front());
    }
  }
  return weakest;
}

}  // namespace oncekey::audit
