#include "gateway/route_table.h"

#include <algorithm>
#include <utility>

#include "gateway/normal_path.h"
#include "gateway/route_pattern.h"

namespace oncekey::gateway {
namespace {

using Candidates = std::vector<const Route*>;

const Route* first_match(const Candidates& candidates, std::string_view path) {
  for (const Route* route : candidates) {
    if (matches_path(route->config.path, path, LetterCase::exact)) return route;
  }
  return nullptr;
}

const Route* first_loose_match(const Candidates& candidates, std::string_view path) {
  for (const Route* route : candidates) {
    if (matches_path(route->loose_pattern, path, LetterCase::ignored)) return route;
  }
  return nullptr;
}

int protection(const Route* route) {
  if (route == nullptr) return 0;
  switch (route->config.key) {
    case KeyUse::off:
      return 0;
    case KeyUse::optional:
      return 1;
    case KeyUse::required:
      return 2;
  }
  return 2;
}

// The first reading wins unless another one is better protected.
const Route* stricter(const Route* first, const Route* other) {
  return protection(other) > protection(first) ? other : first;
}

std::string loosened_pattern(std::string_view pattern) {
  const bool open_end = pattern.ends_with("/*");
  if (pattern == "*" || pattern == "/*") return std::string(pattern);
  std::string loose = loose_path(open_end ? pattern.substr(0, pattern.size() - 2) : pattern);
  return open_end ? loose + "/*" : loose;
}

}  // namespace

RouteConfig default_route() {
  RouteConfig route;
  route.match = "POST,PATCH *";
  route.methods = {"POST", "PATCH"};
  return route;
}

RouteTable::RouteTable(std::vector<RouteConfig> routes) {
  if (routes.empty()) routes.push_back(default_route());
  routes_.reserve(routes.size());
  for (RouteConfig& config : routes) {
    if (config.methods.empty()) config.methods = default_route().methods;
    std::string loose = loosened_pattern(config.path);
    routes_.push_back({std::move(config), routes_.size(), std::move(loose)});
  }
  for (const Route& route : routes_) {
    for (const std::string& method : route.config.methods) {
      auto entry = std::find_if(methods_.begin(), methods_.end(),
                                [&](const MethodRoutes& m) { return m.method == method; });
      if (entry == methods_.end()) entry = methods_.insert(entry, MethodRoutes{method, {}});
      entry->routes.push_back(&route);
    }
  }
}

const Route* RouteTable::match(std::string_view method, std::string_view target) const {
  for (const MethodRoutes& candidates : methods_) {
    if (candidates.method != method) continue;
    const Route* first = candidates.routes.front();
    if (first->config.path == "*" && protection(first) == 2) return first;  // in every reading
    return match_path(candidates, target_path(target));
  }
  return nullptr;
}

const Route* RouteTable::match_path(const MethodRoutes& candidates, std::string_view path) const {
  if (is_plain_path(path)) {
    const Route* route = first_match(candidates.routes, path);
    if (protection(route) == 2) return route;
    if (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
    return stricter(route, first_loose_match(candidates.routes, path));
  }
  const Route* route = first_match(candidates.routes, normal_path(path));
  if (protection(route) == 2) return route;
  route = stricter(route, first_match(candidates.routes, path));
  return stricter(route, first_loose_match(candidates.routes, loose_path(path)));
}

std::size_t shadowing_route(const std::vector<RouteConfig>& routes, std::size_t index) {
  const RouteConfig& route = routes[index];
  std::size_t shadow = index;
  for (const std::string& method : route.methods) {
    const auto covers = [&](const RouteConfig& earlier) {
      return std::find(earlier.methods.begin(), earlier.methods.end(), method) !=
                 earlier.methods.end() &&
             covers_path(earlier.path, route.path);
    };
    const auto end = routes.begin() + static_cast<std::ptrdiff_t>(index);
    const auto found = std::find_if(routes.begin(), end, covers);
    if (found == end) return index;
    if (shadow == index) shadow = static_cast<std::size_t>(found - routes.begin());
  }
  return shadow;
}

}  // namespace oncekey::gateway
