#include "gateway/config_changes.h"

#include <algorithm>

#include "gateway/config_settings.h"

namespace oncekey::gateway {
namespace {

// A name, or all that begin with it when it ends in a dot.
constexpr std::string_view reloadable_names[] = {
    "upstream", "policy_url", "forwarded", "trust_forwarded", "upgrade", "log.level", "tenant.",
    "limits.",  "timeouts.",  "tls.",      "upstream_tls.",
};
constexpr std::string_view other_commands[] = {"worker.", "ledger."};

template <std::size_t N>
bool is_among(std::string_view name, const std::string_view (&list)[N]) {
  return std::any_of(std::begin(list), std::end(list), [&](std::string_view entry) {
    return entry.ends_with('.') ? name.starts_with(entry) : name == entry;
  });
}

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

bool same_matches(const std::vector<RouteConfig>& a, const std::vector<RouteConfig>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const RouteConfig& x, const RouteConfig& y) { return x.match == y.match; });
}

void compare_routes(const Config& in_force, const Config& wanted, ConfigChanges& changes) {
  if (!same_matches(in_force.routes, wanted.routes)) {
    changes.changed.push_back("routes");
    return;
  }
  for (std::size_t i = 0; i < wanted.routes.size(); ++i) {
    std::vector<std::string> names;
    for (const Setting<RouteConfig>& setting : route_settings()) {
      if (setting.get(in_force.routes[i]) == setting.get(wanted.routes[i])) continue;
      names.emplace_back(setting.name);
    }
    if (names.empty()) continue;
    changes.changed.push_back("route " + std::to_string(i + 1) + " (" + wanted.routes[i].match +
                              "): " + joined(names));
  }
}

void compare_tenant_limits(const Config& in_force, const Config& wanted, ConfigChanges& changes) {
  const auto same = [](const TenantLimits& a, const TenantLimits& b) {
    const auto& settings = tenant_limit_settings();
    return std::all_of(settings.begin(), settings.end(), [&](const Setting<TenantLimits>& setting) {
      return setting.get(a) == setting.get(b);
    });
  };
  const std::vector<TenantLimits>&before = in_force.limits.tenants, &now = wanted.limits.tenants;
  if (std::equal(before.begin(), before.end(), now.begin(), now.end(), same)) return;
  changes.changed.push_back("limits.tenant");
}

// What is reloadable as such, and was also used for something that stays as it was made.
bool built_in(std::string_view name, const Config& in_force, bool shared_store) {
  if (name == "timeouts.store") return shared_store;
  if (name.starts_with("tenant.")) return !in_force.webhook.listen.empty();
  return false;
}

}  // namespace

bool reloadable(std::string_view setting_name) {
  return is_among(setting_name, reloadable_names);
}

ConfigChanges compare(const Config& in_force, const Config& wanted, bool shared_store) {
  ConfigChanges changes;
  for (const Setting<Config>& setting : gateway_settings()) {
    if (is_among(setting.name, other_commands)) continue;
    if (setting.get(in_force) == setting.get(wanted)) continue;
    changes.changed.emplace_back(setting.name);
    if (!reloadable(setting.name) || built_in(setting.name, in_force, shared_store)) {
      changes.needs_restart.emplace_back(setting.name);
    }
  }
  compare_tenant_limits(in_force, wanted, changes);
  compare_routes(in_force, wanted, changes);
  return changes;
}

std::string restart_needed(const ConfigChanges& changes) {
  const bool one = changes.needs_restart.size() == 1;
  return joined(changes.needs_restart) + (one ? ": differs" : ": differ") +
         " from what is in force, and only a restart can change " + (one ? "it" : "them");
}

}  // namespace oncekey::gateway
