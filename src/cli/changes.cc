#include "cli/changes.h"

#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/command_words.h"
#include "cli/table.h"

namespace oncekey::cli {
namespace {

// {"tenant":"t","key":"k"} → "k (tenant t)", {"route":"POST /a"} → "POST /a".
std::string target_text(JsonElement entry) {
  JsonElement target;
  if (entry["target"].get(target) != simdjson::SUCCESS || !target.is_object()) return "";
  const std::string key = field(target, "key");
  if (!key.empty()) return key + " (tenant " + field(target, "tenant") + ")";
  const std::string route = field(target, "route");
  if (!route.empty()) return route;
  std::string ids;
  for (const JsonElement id : list_field(target, "ids")) {
    ids += (ids.empty() ? "" : " ") + simdjson::minify(id);
  }
  return ids.empty() ? simdjson::minify(target) : ids;
}

std::string state_of(JsonElement entry, std::string_view side) {
  JsonElement value;
  if (entry[side].get(value) != simdjson::SUCCESS || !value.is_object()) return "";
  return field(value, "state");
}

std::string transition_text(JsonElement entry) {
  const std::string before = state_of(entry, "before");
  const std::string after = state_of(entry, "after");
  return before.empty() || after.empty() ? "" : before + " to " + after;
}

}  // namespace

int run_changes(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "List what operators changed, the newest first: who, what, why, and what came of it. It is "
      "read from the audit file.",
      "oncekey changes");
  AdminPort port(AdminRole::gateway, surroundings);
  int limit = 100;
  bool wide = false;
  app.add_option("--limit", limit, "at most so many; 100 unless given")
      ->type_name("N")
      ->check(CLI::Range(1, 1'000))
      ->group("Output");
  app.add_flag("--wide", wide, "nothing is cut")->group("Output");
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const auto answer = port.get("/v1/audit" + query_text({{"limit", std::to_string(limit)}}));
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
    return exit_good;
  }
  Table table({{"AT"},
               {"AGE"},
               {"WHO", 24},
               {"ACTION"},
               {"TARGET", 64},
               {"CHANGE", 40},
               {"RESULT", 40},
               {"WHY", 256}},
              port.style(), wide);
  for (const JsonElement entry : list_field(answer->root(), "entries")) {
    const std::string at = field(entry, "at");
    const std::string result = in_command_words(field(entry, "result"));
    table.add({at, age_of(at, now_ms()), field(entry, "who"), field(entry, "action"),
               target_text(entry), transition_text(entry), Cell(result, tone_of(result)),
               field(entry, "reason")});
  }
  if (table.empty()) {
    port.err() << "no changes in " << field(answer->root(), "file") << '\n';
  } else {
    table.print(port.out());
  }
  return exit_good;
}

}  // namespace oncekey::cli
