#include <ostream>

#include "boundary/answer.h"
#include "boundary/json_writer.h"
#include "boundary/utf8.h"
#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/flag_values.h"
#include "cli/key_flags.h"
#include "cli/route.h"
#include "cli/visible.h"

namespace oncekey::cli {
namespace {

struct RouteChange {
  std::string route;
  std::string reason;
  std::string duration;  // "": until it is resumed

  void declare(CLI::App& app) {
    app.add_option("route", route, "its match, as route list shows it: \"POST /payments\"")
        ->required()
        ->type_name("MATCH");
    declare_reason(app, reason);
  }
  std::string body() const {
    if (!is_utf8(route + reason)) throw Mistake("a route and --reason are text (UTF-8)");
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.member("route", route);
    json.member("reason", reason);
    if (!duration.empty()) {
      json.member("until", format_rfc3339(now_ms() + read_duration("--for", duration)));
    }
    json.end_object();
    return text;
  }
};

int run(CLI::App& app, RouteChange& change, AdminPort& port, const std::string& target, int argc,
        const char* const* argv) {
  change.declare(app);
  port.declare(app);
  if (auto code = parse_flags(app, argc, argv, port.out(), port.err())) return *code;
  if (auto code = port.open()) return *code;
  try {
    const auto answer = port.post(target, change.body());
    if (!answer) return answer.error();
    if (port.json()) {
      port.print_json(*answer);
      return exit_good;
    }
    const std::string name = visible(change.route);
    if (target.ends_with("resume")) {
      port.out() << "resumed: " << name << " executes again on this node\n";
      return exit_good;
    }
    const std::string until = field(answer->root(), "until");
    port.out() << "paused: " << name << " executes nothing new on this node until "
               << (until.empty() ? "it is resumed or the gateway restarts"
                                 : instant_and_age(until, now_ms()))
               << "; replays go on\n";
    return exit_good;
  } catch (const Mistake& mistake) {
    return port.mistake(mistake.what());
  }
}

}  // namespace

int run_route_pause(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "Let a route execute nothing new: 503 with Retry-After. Replays go on. It holds on the node "
      "that is asked, until it is resumed or restarted.",
      "oncekey route pause");
  AdminPort port(AdminRole::gateway, surroundings);
  RouteChange change;
  app.add_option("--for", change.duration, "ends by itself after this time: 30s, 10m, 2h")
      ->type_name("DURATION");
  return run(app, change, port, "/v1/routes/pause", argc, argv);
}

int run_route_resume(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Let a paused route execute again.", "oncekey route resume");
  AdminPort port(AdminRole::gateway, surroundings);
  RouteChange change;
  return run(app, change, port, "/v1/routes/resume", argc, argv);
}

}  // namespace oncekey::cli
