#include <algorithm>
#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/outbox.h"
#include "cli/table.h"
#include "cli/visible.h"

namespace oncekey::cli {
namespace {

constexpr std::int64_t page_max = 1'000;  // the admin port's own bound

struct Flags {
  std::string state;
  std::string destination;
  std::int64_t limit = 100;
  bool dead = false;
  bool all = false;
  bool wide = false;
};

void declare(CLI::App& app, Flags& flags) {
  const auto which = "Which messages";
  auto* state = app.add_option("--state", flags.state, "only messages in this state")
                    ->type_name("STATE")
                    ->check(CLI::IsMember({"waiting", "claimed", "delivered", "dead"}))
                    ->group(which);
  app.add_flag("--dead", flags.dead, "the dead letters: --state dead")
      ->excludes(state)
      ->group(which);
  app.add_option("--destination", flags.destination, "only messages to this sink")
      ->type_name("NAME")
      ->group(which);
  app.add_option("--limit", flags.limit, "at most so many; 100 unless given")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->group("Output");
  app.add_flag("--all", flags.all, "however many there are")->group("Output");
  app.add_flag("--wide", flags.wide, "nothing is cut")->group("Output");
}

void add_row(Table& table, JsonElement message) {
  const TimestampMs now = now_ms();
  const std::string state = field(message, "state");
  const std::string created = field(message, "created_at");
  const bool waits = state == "waiting" || state == "claimed";
  table.add({field(message, "id"), Cell(state, tone_of(state)), age_of(created, now), created,
             field(message, "destination"), field(message, "attempt"),
             waits ? age_of(field(message, "due_at"), now) : "", field(message, "message_key"),
             field(message, "last_error")});
}

}  // namespace

int run_outbox_list(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("List messages, the oldest first: their state, tries and last error.",
               "oncekey outbox list");
  AdminPort port(AdminRole::worker, surroundings);
  Flags flags;
  declare(app, flags);
  port.declare(app);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  if (flags.dead) flags.state = "dead";

  Table table({{"ID", 20, true},
               {"STATE"},
               {"AGE"},
               {"CREATED"},
               {"DESTINATION", 24},
               {"TRIES", 6, true},
               {"DUE"},
               {"MESSAGE KEY", 48},
               {"LAST ERROR", 80}},
              port.style(), flags.wide);
  std::int64_t count = 0;
  std::string after;
  do {
    const std::int64_t left = flags.all ? page_max : flags.limit - count;
    const auto page =
        port.get("/v1/outbox" + query_text({{"state", flags.state},
                                            {"destination", flags.destination},
                                            {"limit", std::to_string(std::min(left, page_max))},
                                            {"after", after}}));
    if (!page) return page.error();
    if (port.json() && after.empty()) port.out() << "{\"messages\":[";
    for (const JsonElement message : list_field(page->root(), "messages")) {
      ++count;
      if (port.json()) {
        port.out() << (count == 1 ? "" : ",") << visible_json(simdjson::minify(message));
      } else {
        add_row(table, message);
      }
    }
    if (!table.empty()) table.print(port.out());
    after = field(page->root(), "next");
  } while (!after.empty() && (flags.all || count < flags.limit));
  if (port.json()) {
    port.out() << "],\"more\":" << (after.empty() ? "false" : "true") << "}\n";
    return exit_good;
  }
  if (count == 0) port.err() << "no messages\n";
  if (!after.empty()) port.err() << "there may be more: --limit N, or --all\n";
  return exit_good;
}

}  // namespace oncekey::cli
