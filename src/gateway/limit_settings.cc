#include "gateway/limit_settings.h"

#include <algorithm>
#include <set>

#include "gateway/setting_checks.h"
#include "gateway/setting_kinds.h"
#include "http/field.h"

namespace oncekey::gateway {
namespace {

constexpr DurationMs hour = 3'600'000;
constexpr DurationMs day = 24 * hour;

// A tenant as the log shows it, also one that was made from an API key.
std::optional<SettingProblem> check_name(std::string_view text) {
  constexpr std::size_t length_max = 256;
  const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!text.empty() && text.size() <= length_max &&
      std::all_of(text.begin(), text.end(), visible)) {
    return std::nullopt;
  }
  return SettingProblem{"is not a tenant's name", "as the log's \"tenant\" shows it", {}};
}

// Says where a mistake is: at the setting, or at the block that ought to have it.
class Marks {
 public:
  Marks(ConfigDraft& draft, std::string place) : draft_(draft), place_(std::move(place)) {}

  void error(const std::string& name, const std::string& message, std::string hint) {
    draft_.errors.push_back(located(name, message, std::move(hint)));
  }
  void warning(const std::string& name, const std::string& message, std::string hint) {
    draft_.warnings.push_back(located(name, message, std::move(hint)));
  }
  bool is_set(const std::string& name) const { return draft_.is_set(place_ + "." + name); }

 private:
  ConfigError located(const std::string& name, const std::string& message, std::string hint) {
    auto found = draft_.positions.find(place_ + "." + name);
    if (found == draft_.positions.end()) found = draft_.positions.find(place_);
    const SourcePosition at = found == draft_.positions.end() ? SourcePosition{} : found->second;
    return {at.file, at.line, at.column, name + ": " + message, std::move(hint)};
  }

  ConfigDraft& draft_;
  std::string place_;
};

void check_tenants(ConfigDraft& draft) {
  Limits& limits = draft.config.limits;
  std::set<std::string> names;
  for (std::size_t i = 0; i < limits.tenants.size(); ++i) {
    TenantLimits& tenant = limits.tenants[i];
    Marks marks(draft, "limits.tenant." + std::to_string(i));
    if (!names.insert(tenant.name).second) {
      marks.error("name", "\"" + tenant.name + "\" has limits already", "");
    }
    // A rate of its own has a burst of its own.
    if (tenant.new_keys_per_second < 0) {
      tenant.new_keys_per_second = limits.new_keys_per_second;
      if (tenant.new_keys_burst < 0) tenant.new_keys_burst = limits.new_keys_burst;
    }
    if (tenant.new_keys_burst < 0) tenant.new_keys_burst = 0;
    if (tenant.live_keys_max < 0) tenant.live_keys_max = limits.live_keys_max;
  }
}

void check_age(ConfigDraft& draft, std::size_t index) {
  const RouteConfig& route = draft.config.routes[index];
  Marks marks(draft, "route." + std::to_string(index));
  if (route.max_age_ms == 0 || route.key == KeyUse::off) {
    const std::string needs = route.key == KeyUse::off ? "a key" : "max_age";
    for (const char* name : {"max_age", "age_header", "age_required", "age_leeway"}) {
      if (route.max_age_ms == 0 && std::string_view(name) == "max_age") continue;
      if (marks.is_set(name)) marks.warning(name, "has no effect without " + needs, "");
    }
    return;
  }
  if (http::equals_ignoring_case(route.age_header, route.key_header)) {
    marks.error("age_header", "is the key's header", "");
  }
  const bool tombstone = route.on_expired == OnExpired::tombstone;
  const DurationMs remembered = route.retention_ms + (tombstone ? route.tombstone_ms : 0);
  const DurationMs young = route.max_age_ms + route.age_leeway_ms;
  if (young > remembered) {
    marks.error("max_age",
                "a request is young enough for " + format_duration(young) +
                    " (with age_leeway), but its key is remembered for " +
                    format_duration(remembered) + " only: after that it could run again",
                "retention = \"" + format_duration(young) + "\" or more");
  }
  if (!route.age_required) {
    marks.warning("age_required", "whoever leaves " + route.age_header + " out has no age limit",
                  "age_required = true");
  }
}

void check_async(ConfigDraft& draft, std::size_t index) {
  const RouteConfig& route = draft.config.routes[index];
  Marks marks(draft, "route." + std::to_string(index));
  if (route.async != AsyncUse::off && route.key == KeyUse::off) {
    marks.warning("async", "has no effect without a key", "");
  }
}

const TenantLimits* limits_of(const Limits& limits, std::string_view tenant) {
  for (const TenantLimits& one : limits.tenants) {
    if (one.name == tenant) return &one;
  }
  return nullptr;
}

}  // namespace

// A member of the target, for const and non-const targets alike.
#define AT(member)            \
  [](auto& target) -> auto& { \
    return target.member;     \
  }

const std::vector<Setting<TenantLimits>>& tenant_limit_settings() {
  using T = TenantLimits;
  static const std::vector<Setting<T>> settings{
      text_setting<T>("name", AT(name), check_name),
      integer_setting<T>("new_keys_per_second", AT(new_keys_per_second), 0, new_keys_max),
      integer_setting<T>("new_keys_burst", AT(new_keys_burst), 0, new_keys_max),
      integer_setting<T>("live_keys_max", AT(live_keys_max), 0, live_keys_max),
  };
  return settings;
}

std::vector<Setting<RouteConfig>> age_settings() {
  using R = RouteConfig;
  return {
      duration_setting<R>("max_age", AT(max_age_ms), 0, 3'650 * day),
      text_setting<R>("age_header", AT(age_header), check_key_header),
      boolean_setting<R>("age_required", AT(age_required)),
      duration_setting<R>("age_leeway", AT(age_leeway_ms), 0, day),
  };
}

#undef AT

Setting<RouteConfig> async_setting() {
  return {"async", ValueKind::choice,
          [](RouteConfig& route, const SettingValue& value) -> std::optional<SettingProblem> {
            const std::string* text = std::get_if<std::string>(&value);
            if (const bool* always = std::get_if<bool>(&value)) {
              route.async = *always ? AsyncUse::always : AsyncUse::off;
            } else if (text && *text == "allowed") {
              route.async = AsyncUse::allowed;
            } else {
              return SettingProblem{"expected true, false or \"allowed\"",
                                    "async = \"allowed\" lets clients ask for it with "
                                    "Prefer: respond-async",
                                    {}};
            }
            return std::nullopt;
          },
          [](const RouteConfig& route) -> SettingValue {
            if (route.async == AsyncUse::allowed) return std::string("allowed");
            return route.async == AsyncUse::always;
          }};
}

void check_limits(ConfigDraft& draft) {
  const Limits& limits = draft.config.limits;
  Marks marks(draft, "limits");
  if (limits.new_keys_per_second == 0 && limits.tenants.empty() && marks.is_set("new_keys_burst")) {
    marks.warning("new_keys_burst", "has no effect without new_keys_per_second", "");
  }
  check_tenants(draft);
  for (std::size_t i = 0; i < draft.config.routes.size(); ++i) {
    check_age(draft, i);
    check_async(draft, i);
  }
}

NewKeyRate new_key_rate(const Limits& limits, std::string_view tenant) {
  std::int64_t rate = limits.new_keys_per_second;
  std::int64_t burst = limits.new_keys_burst;
  if (const TenantLimits* own = limits_of(limits, tenant)) {
    rate = own->new_keys_per_second;
    burst = own->new_keys_burst;
  }
  if (burst == 0) burst = rate;
  return {static_cast<std::uint32_t>(rate), static_cast<std::uint32_t>(burst)};
}

LiveKeyRules live_key_rules(const Limits& limits, std::string_view tenant) {
  std::int64_t max = limits.live_keys_max;
  if (const TenantLimits* own = limits_of(limits, tenant)) max = own->live_keys_max;
  return {static_cast<std::uint64_t>(max), limits.live_keys_recount_ms};
}

}  // namespace oncekey::gateway
