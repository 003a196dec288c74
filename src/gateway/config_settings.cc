#include "gateway/config_settings.h"

#include <array>

#include "boundary/json_writer.h"
#include "gateway/limit_settings.h"
#include "gateway/recovery_settings.h"
#include "gateway/route_pattern.h"
#include "gateway/setting_checks.h"
#include "gateway/setting_kinds.h"
#include "gateway/tenant_settings.h"
#include "gateway/tls_settings.h"
#include "gateway/worker_settings.h"

namespace oncekey::gateway {
namespace {

template <class Enum, std::size_t N>
using Table = std::array<std::pair<Enum, std::string_view>, N>;

constexpr Table<UpgradeUse, 2> upgrade_names{
    {{UpgradeUse::refuse, "refuse"}, {UpgradeUse::pass, "pass"}}};
constexpr Table<LogFormat, 2> log_format_names{
    {{LogFormat::json, "json"}, {LogFormat::text, "text"}}};
constexpr Table<LogLevel, 5> log_level_names{{{LogLevel::debug, "debug"},
                                              {LogLevel::info, "info"},
                                              {LogLevel::warn, "warn"},
                                              {LogLevel::error, "error"},
                                              {LogLevel::off, "off"}}};
constexpr Table<KeyUse, 3> key_names{
    {{KeyUse::required, "required"}, {KeyUse::optional, "optional"}, {KeyUse::off, "off"}}};
constexpr Table<KeySyntax, 2> key_syntax_names{
    {{KeySyntax::lenient, "lenient"}, {KeySyntax::strict, "strict"}}};
constexpr Table<PersonalData, 3> personal_data_names{{{PersonalData::allow, "allow"},
                                                      {PersonalData::warn, "warn"},
                                                      {PersonalData::refuse, "refuse"}}};
constexpr Table<Profile, 2> profile_names{{{Profile::ietf, "ietf"}, {Profile::stripe, "stripe"}}};
constexpr Table<OnInflight, 2> on_inflight_names{
    {{OnInflight::conflict, "conflict"}, {OnInflight::wait, "wait"}}};
constexpr Table<On5xx, 3> on_5xx_names{
    {{On5xx::retry, "retry"}, {On5xx::replay, "replay"}, {On5xx::unknown, "unknown"}}};
constexpr Table<OnExpired, 2> on_expired_names{
    {{OnExpired::forget, "forget"}, {OnExpired::tombstone, "tombstone"}}};

constexpr DurationMs second = 1'000;
constexpr DurationMs hour = 3'600 * second;
constexpr DurationMs day = 24 * hour;
constexpr std::uint64_t kib = 1 << 10;
constexpr std::uint64_t mib = 1 << 20;
constexpr std::uint64_t gib = 1 << 30;

// A member of the target, for const and non-const targets alike.
#define AT(member)            \
  [](auto& target) -> auto& { \
    return target.member;     \
  }

Setting<RouteConfig> match_setting() {
  return {"match", ValueKind::text,
          [](RouteConfig& route, const SettingValue& value) -> std::optional<SettingProblem> {
            const std::string* text = std::get_if<std::string>(&value);
            if (text == nullptr) return wrong_type("a string", value);
            Result<RoutePattern, PatternError> pattern = parse_route_pattern(*text);
            if (!pattern) return SettingProblem{pattern.error().message, pattern.error().hint, {}};
            route.match = *text;
            route.methods = pattern->methods;
            route.path = pattern->path;
            return std::nullopt;
          },
          [](const RouteConfig& route) -> SettingValue { return route.match; }};
}

std::vector<Setting<Config>> make_gateway_settings() {
  using C = Config;
  std::vector<Setting<C>> settings{
      text_setting<C>("listen", AT(listen), check_address),
      text_setting<C>("admin", AT(admin), check_address),
      text_setting<C>("admin_token_file", AT(admin_token_file), check_anything),
      text_setting<C>("admin_audit_file", AT(admin_audit_file), check_anything),
      texts_setting<C>("admin_hosts", AT(admin_hosts), check_anything),
      text_setting<C>("upstream", AT(upstream), check_upstream),
      text_setting<C>("store", AT(store), check_store),
      text_setting<C>("secret_file", AT(secret_file), check_anything),
      text_setting<C>("encryption.keys_file", AT(encryption_keys_file), check_anything),
      text_setting<C>("policy_url", AT(policy_url), check_policy_url),
      integer_setting<C>("threads", AT(threads), 0, 64),
      boolean_setting<C>("forwarded", AT(forwarded)),
      boolean_setting<C>("trust_forwarded", AT(trust_forwarded)),
      choice_setting<C, UpgradeUse>("upgrade", AT(upgrade), upgrade_names),
      size_setting<C>("replay_cache", AT(replay_cache_bytes), 0, 64 * gib),
      duration_setting<C>("replay_trust", AT(replay_trust_ms), 0, day),
      choice_setting<C, LogLevel>("log.level", AT(log_level), log_level_names),
      choice_setting<C, LogFormat>("log.format", AT(log_format), log_format_names),
      text_setting<C>("traces.otlp", AT(traces.otlp), check_collector),
      integer_setting<C>("traces.percent", AT(traces.percent), 0, 100),
      size_setting<C>("limits.header_block", AT(limits.header_block), kib, mib),
      integer_setting<C>("limits.header_count", AT(limits.header_count), 8, 1'000),
      integer_setting<C>("limits.connections", AT(limits.connections), 1, 1'000'000),
      integer_setting<C>("limits.upstream_connections_idle", AT(limits.upstream_connections_idle),
                         0, 65'536),
      integer_setting<C>("limits.new_keys_per_second", AT(limits.new_keys_per_second), 0,
                         new_keys_max),
      integer_setting<C>("limits.new_keys_burst", AT(limits.new_keys_burst), 0, new_keys_max),
      integer_setting<C>("limits.live_keys_max", AT(limits.live_keys_max), 0, live_keys_max),
      duration_setting<C>("limits.live_keys_recount", AT(limits.live_keys_recount_ms), second, day),
      duration_setting<C>("timeouts.header", AT(timeouts.header_ms), 10, hour),
      duration_setting<C>("timeouts.body", AT(timeouts.body_ms), 10, hour),
      duration_setting<C>("timeouts.idle", AT(timeouts.idle_ms), 10, day),
      duration_setting<C>("timeouts.connect", AT(timeouts.connect_ms), 1, 10 * 60 * second),
      duration_setting<C>("timeouts.upstream_idle", AT(timeouts.upstream_idle_ms), 1, hour),
      duration_setting<C>("timeouts.write", AT(timeouts.write_ms), 10, hour),
      duration_setting<C>("timeouts.store", AT(timeouts.store_ms), 10, 10 * 60 * second),
      duration_setting<C>("timeouts.grace", AT(timeouts.grace_ms), 0, hour),
  };
  for (Setting<C>& setting : tenant_settings()) settings.push_back(std::move(setting));
  for (Setting<C>& setting : tls_settings()) settings.push_back(std::move(setting));
  for (Setting<C>& setting : webhook_settings()) settings.push_back(std::move(setting));
  for (Setting<C>& setting : ledger_settings()) settings.push_back(std::move(setting));
  return settings;
}

std::vector<Setting<RouteConfig>> make_route_settings() {
  using R = RouteConfig;
  const auto key_length_limit = static_cast<std::int64_t>(key_length_max);
  std::vector<Setting<R>> settings{
      match_setting(),
      choice_setting<R, KeyUse>("key", AT(key), key_names),
      text_setting<R>("key_header", AT(key_header), check_key_header),
      text_setting<R>("key_pointer", AT(key_pointer), check_pointer),
      choice_setting<R, KeySyntax>("key_syntax", AT(key_policy.syntax), key_syntax_names),
      integer_setting<R>("key_min_length", AT(key_policy.length_min), 1, key_length_limit),
      integer_setting<R>("key_max_length", AT(key_policy.length_max), 1, key_length_limit),
      choice_setting<R, PersonalData>("key_personal_data", AT(key_policy.personal_data),
                                      personal_data_names),
      choice_setting<R, Profile>("profile", AT(profile), profile_names),
      integer_setting<R>("status.mismatch", AT(statuses.mismatch), 400, 599),
      integer_setting<R>("status.in_flight", AT(statuses.in_flight), 400, 599),
      integer_setting<R>("status.unknown", AT(statuses.unknown), 400, 599),
      integer_setting<R>("status.expired", AT(statuses.expired), 400, 599),
      duration_setting<R>("retention", AT(retention_ms), second, 3'650 * day),
      duration_setting<R>("lease", AT(lease_ms), second, day),
      duration_setting<R>("upstream_timeout", AT(upstream_timeout_ms), 10, day),
      size_setting<R>("body_limit", AT(body_limit), 0, gib),
      size_setting<R>("response_limit", AT(response_limit), 0, gib),
      choice_setting<R, OnInflight>("on_inflight", AT(on_inflight), on_inflight_names),
      duration_setting<R>("wait_timeout", AT(wait_timeout_ms), 1, hour),
      choice_setting<R, On5xx>("on_5xx", AT(on_5xx), on_5xx_names),
      choice_setting<R, OnExpired>("on_expired", AT(on_expired), on_expired_names),
      duration_setting<R>("tombstone", AT(tombstone_ms), second, 3'650 * day),
      boolean_setting<R>("fail_open", AT(fail_open)),
      texts_setting<R>("fingerprint.include", AT(fingerprint.include), check_pointer),
      texts_setting<R>("fingerprint.exclude", AT(fingerprint.exclude), check_pointer),
      texts_setting<R>("replay_headers", AT(replay_headers), check_replay_header),
  };
  for (Setting<R>& setting : probe_settings()) settings.push_back(std::move(setting));
  for (Setting<R>& setting : age_settings()) settings.push_back(std::move(setting));
  settings.push_back(async_setting());
  settings.push_back(scope_setting());
  return settings;
}

#undef AT

// Edits (insert, delete, replace, swap neighbours) that turn one name into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replace = d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      d[i][j] = std::min({replace, d[i - 1][j] + 1, d[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

const std::vector<Setting<Config>>& gateway_settings() {
  static const std::vector<Setting<Config>> settings = [] {
    std::vector<Setting<Config>> all = make_gateway_settings();
    for (Setting<Config>& setting : worker_settings()) all.push_back(std::move(setting));
    return all;
  }();
  return settings;
}

const std::vector<Setting<RouteConfig>>& route_settings() {
  static const std::vector<Setting<RouteConfig>> settings = make_route_settings();
  return settings;
}

std::string to_literal(const SettingValue& value) {
  std::string out;
  JsonWriter writer(out);
  if (const auto* truth = std::get_if<bool>(&value)) writer.value(*truth);
  if (const auto* number = std::get_if<std::int64_t>(&value)) writer.value(*number);
  if (const auto* text = std::get_if<std::string>(&value)) writer.value(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    writer.begin_array();
    for (const std::string& text : *texts) writer.value(text);
    writer.end_array();
  }
  return out;
}

std::optional<std::string> unsupported_setting(std::string_view name) {
  if (name != "tenant.secret") return std::nullopt;
  return "a secret does not stand in the configuration: tenant.keys names a file with it";
}

std::string nearest_name(std::string_view name, const std::vector<std::string_view>& known) {
  // A third of the letters may be wrong; more than that is another word.
  std::size_t best_distance = std::max<std::size_t>(1, name.size() / 3) + 1;
  std::string best;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance >= best_distance) continue;
    best_distance = distance;
    best = candidate;
  }
  return best;
}

}  // namespace oncekey::gateway
