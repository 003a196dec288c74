#include "cli/tail.h"

#include <algorithm>
#include <chrono>
#include <ostream>
#include <thread>

#include "cli/admin_port.h"
#include "cli/event_line.h"
#include "cli/event_stream.h"
#include "cli/visible.h"
#include "gateway/decision.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

// A comment comes every 10 s, whatever happens.
constexpr DurationMs silence_max_ms = 30'000;
constexpr DurationMs pause_first_ms = 500;
constexpr DurationMs pause_max_ms = 10'000;

std::vector<std::string> decisions() {
  std::vector<std::string> names;
  for (int i = 0; i < gateway::decision_count; ++i) {
    names.emplace_back(to_string(static_cast<gateway::Decision>(i)));
  }
  return names;
}

class Tail {
 public:
  Tail(AdminPort& port, std::string target, bool json)
      : port_(port), target_(std::move(target)), json_(json) {}

  // Ends only when it is refused, or cannot begin.
  int run() {
    DurationMs pause_ms = pause_first_ms;
    for (;;) {
      bool heard = false;
      EventStream stream([this](const ServerEvent& event) { show(event); });
      const auto answer =
          ask(port_.place(), {"GET", target_, "", silence_max_ms, [&](std::string_view piece) {
                                if (!heard) began();
                                heard = true;
                                stream.take(piece);
                                port_.out().flush();
                              }});
      if (heard) {
        pause_ms = pause_first_ms;
      } else if (!began_before_) {
        return answer ? port_.fail(*answer) : unreachable(answer.error());
      } else if (answer && (answer->status == 401 || answer->status == 403)) {
        return port_.fail(*answer);
      }
      if (!port_.out()) return exit_failed;
      if (!lost_) say("the stream has ended" + why(answer) + "; connecting again");
      lost_ = true;
      std::this_thread::sleep_for(std::chrono::milliseconds(pause_ms));
      pause_ms = std::min(pause_ms * 2, pause_max_ms);
    }
  }

 private:
  void began() {
    if (lost_) say("connected again; what happened in between was not seen");
    lost_ = false;
    began_before_ = true;
  }
  void show(const ServerEvent& event) {
    const Json json(event.data);
    if (!json.valid()) return;
    if (event.name == "dropped") {
      missed_ += number_field(json.root(), "count");
      say(field(json.root(), "count") + " events were dropped, as they were not read in time (" +
          std::to_string(missed_) + " in all)");
    }
    if (json_) {
      port_.out() << visible_json(event.data) << '\n';
    } else if (event.name != "dropped") {
      port_.out() << event_line(json.root(), port_.style()) << '\n';
    }
  }
  int unreachable(const Silence& silence) {
    say(verify::printable(silence.why));
    return exit_unreachable;
  }
  static std::string why(const Result<ClientAnswer, Silence>& answer) {
    return answer ? "" : " (" + verify::printable(answer.error().why) + ")";
  }
  void say(const std::string& text) { port_.err() << "oncekey: " << text << std::endl; }

  AdminPort& port_;
  const std::string target_;
  const bool json_;
  std::int64_t missed_ = 0;
  bool began_before_ = false;
  bool lost_ = false;
};

}  // namespace

int run_tail(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "Show live what a gateway does: each request with its decision, leases that end, outcomes "
      "found, changes by operators. Goes on until it is interrupted, also over a restart of the "
      "gateway.",
      "oncekey tail");
  AdminPort port(AdminRole::gateway, surroundings);
  std::string tenant;
  std::string route;
  std::string decision;
  bool json = false;
  const auto which = "Which events";
  app.add_option("--tenant", tenant, "only of this tenant")->type_name("TENANT")->group(which);
  app.add_option("--route", route, "only requests of this route: its match")
      ->type_name("MATCH")
      ->group(which);
  app.add_option("--decision", decision, "only requests that were decided so")
      ->type_name("DECISION")
      ->group(which)
      ->check(CLI::IsMember(decisions()));
  app.add_flag("--json", json, "each event as JSON, one a line")->group("Output");
  port.declare_without_json(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const std::string target =
      "/v1/events" + query_text({{"tenant", tenant}, {"route", route}, {"decision", decision}});
  return Tail(port, target, json).run();
}

}  // namespace oncekey::cli
