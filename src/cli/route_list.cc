#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/route.h"
#include "cli/table.h"

namespace oncekey::cli {
std::string pause_text(JsonElement pause) {
  const TimestampMs now = now_ms();
  std::string text = "since " + instant_and_age(field(pause, "since"), now);
  const std::string until = field(pause, "until");
  if (!until.empty()) text += ", until " + instant_and_age(until, now);
  return text + ", by " + field(pause, "by") + ": " + field(pause, "reason");
}

int run_route_list(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("List the routes in force, and which of them are paused.", "oncekey route list");
  AdminPort port(AdminRole::gateway, surroundings);
  port.declare(app);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const auto answer = port.get("/v1/routes");
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
    return exit_good;
  }
  Table table({{"ROUTE", 64}, {"KEY"}, {"PROBE"}, {"PAUSED", 256}}, port.style());
  for (const JsonElement route : list_field(answer->root(), "routes")) {
    JsonElement pause;
    const bool paused = route["paused"].get(pause) == simdjson::SUCCESS;
    table.add({field(route, "route"), field(route, "key"),
               field(route, "has_probe") == "true" ? "yes" : "no",
               paused ? Cell(pause_text(pause), Tone::doubtful) : Cell("")});
  }
  table.print(port.out());
  return exit_good;
}

}  // namespace oncekey::cli
