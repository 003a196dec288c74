#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/key.h"
#include "cli/key_flags.h"
#include "cli/table.h"

namespace oncekey::cli {
namespace {

void print_timeline(JsonElement timeline, AdminPort& port) {
  const TimestampMs now = now_ms();
  Table table({{"AT"}, {"AGE"}, {"STATE"}, {"ATTEMPT", 8, true}, {"BY", 48}, {"WHY", 256}},
              port.style());
  std::int64_t lost = 0;
  for (const JsonElement transition : list_field(timeline, "transitions")) {
    const std::string at = field(transition, "at");
    const std::string state = field(transition, "state");
    lost += number_field(transition, "not_kept_before");
    table.add({at, at.empty() ? "" : age_of(at, now), Cell(state, tone_of(state)),
               field(transition, "attempt"), field(transition, "by"), field(transition, "reason")});
  }
  port.out() << name_of_key(timeline) << " is " << field(timeline, "state") << "\n\n";
  table.print(port.out());
  if (lost > 0) port.out() << lost << " transitions in between are no longer kept\n";
}

}  // namespace

int run_key_timeline(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Tell what happened to a key: when, which state, by which node or whom, and why.",
               "oncekey key timeline");
  AdminPort port(AdminRole::gateway, surroundings);
  KeyName name;
  name.declare(app);
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const auto answer = port.get("/v1/keys/timeline" + name.query());
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
  } else {
    print_timeline(answer->root(), port);
  }
  return exit_good;
}

}  // namespace oncekey::cli
