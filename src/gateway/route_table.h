// Which route a request belongs to. Built once from the configuration, then read by all threads.
//
// A request is matched on its path in normal form (normal_path.h). Upstreams differ in what else
// they take for the same path (letter case, encoded slashes, path parameters, a slash at the end),
// so a request whose other readings belong to a more protected route gets that route: a strange
// spelling can only ever add protection.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config.h"

namespace oncekey::gateway {

struct Route {
  RouteConfig config;
  std::size_t index = 0;  // its place in the configuration, for logs and metrics
  std::string loose_pattern;

  // Otherwise the request passes as through any proxy; the route's timeouts and limits still hold.
  bool is_protected() const { return config.key != KeyUse::off; }
};

class RouteTable {
 public:
  // Without routes: POST and PATCH of every path, with the defaults.
  explicit RouteTable(std::vector<RouteConfig> routes);
  RouteTable(const RouteTable&) = delete;
  RouteTable& operator=(const RouteTable&) = delete;

  // `target` as the request line has it. Null: no route, the request passes unprotected. Allocates
  // only for paths that need normalising.
  const Route* match(std::string_view method, std::string_view target) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  struct MethodRoutes {
    std::string method;
    std::vector<const Route*> routes;
  };

  const Route* match_path(const MethodRoutes& candidates, std::string_view path) const;

  std::vector<Route> routes_;
  std::vector<MethodRoutes> methods_;
};

// The route of a gateway that was configured without any.
RouteConfig default_route();

// Which earlier route takes every request of route `index`; its own index when none does.
std::size_t shadowing_route(const std::vector<RouteConfig>& routes, std::size_t index);

}  // namespace oncekey::gateway
