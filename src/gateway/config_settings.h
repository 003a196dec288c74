// Every setting by name: how it is read, checked and printed. The file, the environment, the flags
// and `oncekey check` all go through these tables, so none of them can know a key the others
// do not.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gateway/config.h"

namespace oncekey::gateway {

using SettingValue = std::variant<bool, std::int64_t, std::string, std::vector<std::string>>;

enum class ValueKind { text, boolean, integer, size, duration, choice, texts };

struct SettingProblem {
  std::string message;
  std::string hint;
  std::optional<std::size_t> element;  // which element of a list is wrong
};

template <class Target>
struct Setting {
  std::string_view name;  // dotted: "timeouts.header"; for routes relative: "status.mismatch"
  ValueKind kind;
  std::function<std::optional<SettingProblem>(Target&, const SettingValue&)> set;
  std::function<SettingValue(const Target&)> get;
};

const std::vector<Setting<Config>>& gateway_settings();
const std::vector<Setting<RouteConfig>>& route_settings();
const std::vector<Setting<outbox::SinkConfig>>& sink_settings();
const std::vector<Setting<TenantLimits>>& tenant_limit_settings();

// As the configuration file has it: true, 16, "24h", ["/a"]. Also valid JSON.
std::string to_literal(const SettingValue& value);

// What to say of a name that people try, and that is no setting on purpose.
std::optional<std::string> unsupported_setting(std::string_view name);

// The known name closest to a mistyped one; empty when none is close.
std::string nearest_name(std::string_view name, const std::vector<std::string_view>& known);

}  // namespace oncekey::gateway
