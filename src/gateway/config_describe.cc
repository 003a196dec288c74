#include "gateway/config_describe.h"

#include <algorithm>

#include "boundary/json_writer.h"
#include "gateway/config_settings.h"
#include "store/url_secrets.h"

namespace oncekey::gateway {
namespace {

void append_line(std::string& out, std::string_view indent, std::string_view name,
                 std::string_view value, std::size_t width) {
  out.append(indent).append(name).append(width + 2 - std::min(width, name.size()), ' ');
  out.append(value).append("\n");
}

template <class Target>
std::size_t widest(const std::vector<Setting<Target>>& settings) {
  std::size_t width = 0;
  for (const Setting<Target>& setting : settings) width = std::max(width, setting.name.size());
  return width;
}

// A status that the route leaves to its profile is shown as the profile's.
SettingValue in_force(const Setting<RouteConfig>& setting, const RouteConfig& route) {
  RouteConfig resolved = route;
  const auto status = [&](AnswerCase answer_case) {
    return answer_status(answer_case, route.profile, route.statuses);
  };
  resolved.statuses = {status(AnswerCase::mismatch), status(AnswerCase::in_flight),
                       status(AnswerCase::outcome_unknown), status(AnswerCase::result_expired)};
  if (resolved.replay_headers.empty()) resolved.replay_headers = default_replay_headers();
  return setting.get(resolved);
}

// "Authorization: Bearer k" → "Authorization: (set)".
void hide_values(std::vector<std::string>& headers) {
  for (std::string& header : headers) header = header.substr(0, header.find(':')) + ": (set)";
}

Config without_passwords(Config config) {
  for (RouteConfig& route : config.routes) hide_values(route.probe.headers);
  hide_values(config.ledger.rules.headers);
  config.store = store::without_passwords(config.store);
  config.worker.database = store::without_passwords(config.worker.database);
  for (outbox::SinkConfig& sink : config.sinks) {
    sink.url = store::without_passwords(sink.url);
    for (std::string& secret : sink.secrets) secret = "(set)";
    for (std::string& property : sink.properties) {
      property = property.substr(0, property.find('=')) + "=(set)";
    }
  }
  return config;
}

// Dotted names become objects: "log.level" is {"log":{"level":…}}. Settings of one group follow
// each other in their table.
template <class Target, class Get>
void write_settings(JsonWriter& writer, const std::vector<Setting<Target>>& settings, Get get) {
  std::string_view open_group;
  for (const Setting<Target>& setting : settings) {
    const std::size_t dot = setting.name.find('.');
    const std::string_view group = dot == setting.name.npos ? "" : setting.name.substr(0, dot);
    if (group != open_group) {
      if (!open_group.empty()) writer.end_object();
      if (!group.empty()) {
        writer.key(group);
        writer.begin_object();
      }
      open_group = group;
    }
    writer.key(dot == setting.name.npos ? setting.name : setting.name.substr(dot + 1));
    writer.raw(to_literal(get(setting)));
  }
  if (!open_group.empty()) writer.end_object();
}

}  // namespace

std::string describe(const Config& given) {
  const Config config = without_passwords(given);
  std::string out;
  const std::size_t width = widest(gateway_settings());
  const Config untouched;
  for (const Setting<Config>& setting : gateway_settings()) {
    // Of what most do without, only what was set.
    const bool extra = setting.name.starts_with("webhook.") ||
                       setting.name.starts_with("ledger.") || setting.name.starts_with("worker.");
    if (extra && setting.get(config) == setting.get(untouched)) continue;
    append_line(out, "", setting.name, to_literal(setting.get(config)), width);
  }
  const RouteConfig defaults;
  const std::size_t route_width = widest(route_settings());
  for (std::size_t i = 0; i < config.routes.size(); ++i) {
    const RouteConfig& route = config.routes[i];
    out.append("\nroute ")
        .append(std::to_string(i + 1))
        .append("  ")
        .append(route.match)
        .append("\n");
    for (const Setting<RouteConfig>& setting : route_settings()) {
      const bool always = setting.name == "key" || setting.name == "retention";
      if (setting.name == "match" || (!always && setting.get(route) == setting.get(defaults)))
        continue;
      append_line(out, "  ", setting.name, to_literal(in_force(setting, route)), route_width);
    }
  }
  for (const TenantLimits& tenant : config.limits.tenants) {
    out.append("\nlimits of tenant  ").append(tenant.name).append("\n");
    for (const Setting<TenantLimits>& setting : tenant_limit_settings()) {
      if (setting.name == "name") continue;
      append_line(out, "  ", setting.name, to_literal(setting.get(tenant)),
                  widest(tenant_limit_settings()));
    }
  }
  const outbox::SinkConfig plain;
  for (const outbox::SinkConfig& sink : config.sinks) {
    out.append("\nsink  ").append(sink.name).append("\n");
    for (const Setting<outbox::SinkConfig>& setting : sink_settings()) {
      const bool always = setting.name == "kind";
      if (setting.name == "name" || (!always && setting.get(sink) == setting.get(plain))) continue;
      append_line(out, "  ", setting.name, to_literal(setting.get(sink)), widest(sink_settings()));
    }
  }
  return out;
}

std::string describe_json(const Config& given) {
  const Config config = without_passwords(given);
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  write_settings(writer, gateway_settings(),
                 [&](const Setting<Config>& setting) { return setting.get(config); });
  writer.key("route");
  writer.begin_array();
  for (const RouteConfig& route : config.routes) {
    writer.begin_object();
    write_settings(writer, route_settings(),
                   [&](const Setting<RouteConfig>& setting) { return in_force(setting, route); });
    writer.end_object();
  }
  writer.end_array();
  writer.key("sink");
  writer.begin_array();
  for (const outbox::SinkConfig& sink : config.sinks) {
    writer.begin_object();
    write_settings(writer, sink_settings(),
                   [&](const Setting<outbox::SinkConfig>& setting) { return setting.get(sink); });
    writer.end_object();
  }
  writer.end_array();
  writer.end_object();
  return out;
}

}  // namespace oncekey::gateway
