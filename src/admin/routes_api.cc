#include "admin/routes_api.h"

#include <algorithm>

#include "boundary/answer.h"
#include "boundary/json_writer.h"
#include "gateway/context.h"

namespace oncekey::admin {
namespace {

constexpr std::int64_t reason_max = 256;
constexpr std::int64_t match_max = 1'024;

std::string pause_json(const gateway::RoutePause& pause) {
  std::string text;
  JsonWriter json(text);
  write_pause(json, pause);
  return text;
}

std::string target_of(std::string_view route) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("route", route);
  json.end_object();
  return text;
}

std::string_view name_of(gateway::KeyUse use) {
  switch (use) {
    case gateway::KeyUse::required:
      return "required";
    case gateway::KeyUse::optional:
      return "optional";
    case gateway::KeyUse::off:
      return "off";
  }
  return "";
}

const gateway::RoutePause* find_pause(const std::vector<gateway::RoutePause>& pauses,
                                      std::string_view route) {
  const auto found = std::find_if(pauses.begin(), pauses.end(),
                                  [&](const auto& pause) { return pause.route == route; });
  return found == pauses.end() ? nullptr : &*found;
}

}  // namespace

void write_pause(JsonWriter& json, const gateway::RoutePause& pause) {
  json.begin_object();
  json.member("route", pause.route);
  json.member("reason", pause.reason);
  json.member("by", pause.by);
  json.member("since", format_rfc3339(pause.since));
  if (pause.until > 0) json.member("until", format_rfc3339(pause.until));
  json.end_object();
}

std::vector<Endpoint> RoutesApi::endpoints() {
  const Field route{.name = "route",
                    .about = "the route's match, as configured and as GET /v1/routes shows it",
                    .required = true,
                    .max = match_max};
  const Field reason{.name = "reason",
                     .about = "why; kept in the audit file",
                     .required = true,
                     .max = reason_max};
  return {
      {"GET",
       "/v1/routes",
       Access::read,
       "listRoutes",
       "The routes in force, in their order, and which of them are paused.",
       {},
       "RouteList",
       [this](const Call& call) { return list(call); }},
      {"POST",
       "/v1/routes/pause",
       Access::write,
       "pauseRoute",
       "The route executes nothing new on this node: 503 and Retry-After. Replays go on. A restart "
       "lifts it.",
       {route,
        reason,
        {.name = "until", .kind = FieldKind::instant, .about = "ends by itself at this time"}},
       "Pause",
       [this](const Call& call) { return pause(call); }},
      {"POST",
       "/v1/routes/resume",
       Access::write,
       "resumeRoute",
       "The route executes again.",
       {route, reason},
       "Pause",
       [this](const Call& call) { return resume(call); }},
  };
}

Reply RoutesApi::list(const Call&) const {
  const auto pauses = service_.pauses().list(gateway::wall_now_ms());
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  json.key("routes");
  json.begin_array();
  for (const gateway::RouteConfig& route : service_.config().routes) {
    json.begin_object();
    json.member("route", route.match);
    json.member("key", name_of(route.key));
    json.member("has_probe", !route.probe.get.empty());
    if (const auto* paused = find_pause(pauses, route.match)) {
      json.key("paused");
      write_pause(json, *paused);
    }
    json.end_object();
  }
  json.end_array();
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

Reply RoutesApi::pause(const Call& call) {
  const std::string match = call.arguments.text("route");
  const auto& routes = service_.config().routes;
  const auto known = std::find_if(routes.begin(), routes.end(),
                                  [&](const auto& route) { return route.match == match; });
  if (known == routes.end()) {
    return not_found("No route has the match \"" + match + "\". GET /v1/routes lists them.");
  }
  if (known->key == gateway::KeyUse::off) {
    return conflict("The route is not protected (key = \"off\"): its requests only pass through.");
  }
  const TimestampMs now = gateway::wall_now_ms();
  gateway::RoutePause pause;
  pause.route = match;
  pause.reason = call.arguments.text("reason");
  pause.by = call.caller.name;
  pause.since = now;
  pause.until = call.arguments.time("until").value_or(0);
  if (call.arguments.has("until") && pause.until <= now) {
    return bad_request("until is in the past");
  }
  const auto pauses = service_.pauses().list(now);
  const auto* before = find_pause(pauses, match);
  const Change change{"pause", target_of(match), pause.reason,
                      before == nullptr ? "" : pause_json(*before), pause_json(pause)};
  return journal_.change(call.caller, change, [&]() -> Changed {
    service_.pauses().pause(pause);
    Changed changed{true, pause_json(pause), {}};
    changed.reply.body = pause_json(pause) + "\n";
    return changed;
  });
}

Reply RoutesApi::resume(const Call& call) {
  const std::string match = call.arguments.text("route");
  const auto pauses = service_.pauses().list(gateway::wall_now_ms());
  const auto* before = find_pause(pauses, match);
  if (before == nullptr) {
    return conflict("The route \"" + match + "\" is not paused on this node.");
  }
  const Change change{"resume", target_of(match), call.arguments.text("reason"),
                      pause_json(*before), "null"};
  return journal_.change(call.caller, change, [&]() -> Changed {
    service_.pauses().resume(match);
    Changed changed{true, "null", {}};
    changed.reply.body = target_of(match) + "\n";
    return changed;
  });
}

}  // namespace oncekey::admin
