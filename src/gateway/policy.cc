#include "gateway/policy.h"

#include <array>

#include "boundary/json_writer.h"
#include "gateway/config_settings.h"
#include "gateway/config_units.h"
#include "gateway/key_status.h"
#include "gateway/limit_settings.h"
#include "gateway/policy_errors.h"
#include "gateway/policy_page.h"
#include "gateway/route_table.h"

namespace oncekey::gateway {
namespace {

// What clients are told of a route; the rest (timeouts, limits on answers) is the operator's.
std::vector<RouteConfig> published_routes(const Config& config) {
  if (config.routes.empty()) return {default_route()};
  return config.routes;
}

std::string setting_text(const RouteConfig& route, std::string_view name) {
  for (const Setting<RouteConfig>& setting : route_settings()) {
    if (setting.name != name) continue;
    const SettingValue value = setting.get(route);
    const std::string* text = std::get_if<std::string>(&value);
    return text == nullptr ? to_literal(value) : *text;
  }
  return {};
}

struct CaseStatus {
  std::string_view name;
  AnswerCase answer_case;
};
constexpr std::array<CaseStatus, 7> published_cases{
    {{"key_missing", AnswerCase::key_missing},
     {"key_invalid", AnswerCase::key_invalid},
     {"mismatch", AnswerCase::mismatch},
     {"in_flight", AnswerCase::in_flight},
     {"unknown", AnswerCase::outcome_unknown},
     {"expired", AnswerCase::result_expired},
     {"store_unavailable", AnswerCase::store_unavailable}}};

int status_of(const RouteConfig& route, AnswerCase answer_case) {
  return answer_status(answer_case, route.profile, route.statuses);
}

void write_key_rules(JsonWriter& writer, const RouteConfig& route) {
  writer.member("key", setting_text(route, "key"));
  writer.member("required", route.key == KeyUse::required);
  if (route.key == KeyUse::off) return;
  writer.member("key_header", route.key_header);
  if (!route.key_pointer.empty()) writer.member("key_pointer", route.key_pointer);
  writer.member("key_syntax", setting_text(route, "key_syntax"));
  writer.member("key_min_length", route.key_policy.length_min);
  writer.member("key_max_length", route.key_policy.length_max);
  writer.member("key_personal_data", setting_text(route, "key_personal_data"));
}

void write_behaviour(JsonWriter& writer, const RouteConfig& route) {
  writer.member("profile", setting_text(route, "profile"));
  writer.key("status");
  writer.begin_object();
  for (const CaseStatus& entry : published_cases) {
    writer.member(entry.name, status_of(route, entry.answer_case));
  }
  writer.end_object();
  writer.member("replay_marker", replay_marker(route.profile));
  writer.member("retention", format_duration(route.retention_ms));
  writer.member("retention_seconds", route.retention_ms / 1000);
  writer.member("on_inflight", setting_text(route, "on_inflight"));
  if (route.on_inflight == OnInflight::wait) {
    writer.member("wait_timeout", format_duration(route.wait_timeout_ms));
  }
  writer.member("on_5xx", setting_text(route, "on_5xx"));
  writer.member("on_expired", setting_text(route, "on_expired"));
  if (route.on_expired == OnExpired::tombstone) {
    writer.member("tombstone", format_duration(route.tombstone_ms));
  }
  writer.member("body_limit_bytes", route.body_limit);
  if (route.fail_open) writer.member("fail_open", true);
  if (route.max_age_ms > 0) {
    writer.member("max_age", format_duration(route.max_age_ms));
    writer.member("max_age_seconds", route.max_age_ms / 1000);
    writer.member("age_header", route.age_header);
    writer.member("age_required", route.age_required);
    writer.member("age_leeway", format_duration(route.age_leeway_ms));
  }
  if (route.async != AsyncUse::off) {
    writer.member("async", route.async == AsyncUse::always ? "always" : "allowed");
  }
}

// Of every tenant that has none of its own; those are not everybody's to know.
void write_limits(JsonWriter& writer, const Limits& limits) {
  const NewKeyRate rate = new_key_rate(limits, {});
  if (rate.per_second == 0 && limits.live_keys_max == 0) return;
  writer.key("limits");
  writer.begin_object();
  if (rate.per_second > 0) {
    writer.member("new_keys_per_second", rate.per_second);
    writer.member("new_keys_burst", rate.burst);
  }
  if (limits.live_keys_max > 0) writer.member("live_keys_max", limits.live_keys_max);
  writer.end_object();
}

void write_route(JsonWriter& writer, const RouteConfig& route) {
  writer.begin_object();
  writer.member("match", route.match);
  writer.key("methods");
  writer.begin_array();
  for (const std::string& method : route.methods) writer.value(method);
  writer.end_array();
  writer.member("path", route.path);
  write_key_rules(writer, route);
  if (route.key != KeyUse::off) write_behaviour(writer, route);
  writer.end_object();
}

}  // namespace

std::string policy_json(const Config& config) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  writer.member("version", 1);
  writer.key("routes");
  writer.begin_array();
  const std::vector<RouteConfig> routes = published_routes(config);
  for (const RouteConfig& route : routes) write_route(writer, route);
  writer.end_array();
  writer.member("unmatched", "passes without a key");
  writer.member("key_status", std::string(key_status_prefix) + "{key}");
  write_limits(writer, config.limits);
  writer.key("errors");
  writer.begin_array();
  for (const PolicyError& error : policy_errors(routes.front().key_header)) {
    writer.begin_object();
    writer.member("code", error.code);
    writer.member("type", config.policy_url + "#" + std::string(error.code));
    writer.member("status", error.status);
    writer.member("title", error.title);
    writer.member("detail", error.advice);
    writer.member("retryable", error.retryable);
    writer.member("safe_new_key", error.safe_new_key);
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return out;
}

std::string policy_html(const Config& config) {
  const std::vector<RouteConfig> routes = published_routes(config);
  return policy_page(routes, policy_errors(routes.front().key_header));
}

}  // namespace oncekey::gateway
