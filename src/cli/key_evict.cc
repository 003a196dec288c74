#include <ostream>

#include "cli/admin_port.h"
#include "cli/key.h"
#include "cli/key_flags.h"

namespace oncekey::cli {

int run_key_evict(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "Forget a key. The next request with it is executed as if it were the first. Never one in "
      "progress.",
      "oncekey key evict");
  AdminPort port(AdminRole::gateway, surroundings);
  KeyChange change;
  bool even_unknown = false;
  change.declare(app);
  app.add_flag("--even-unknown", even_unknown,
               "also an unknown outcome, which may have been executed and would be again");
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  if (const auto wrong = change.write(json)) return port.mistake(*wrong);
  if (even_unknown) json.member("even_unknown", true);
  json.end_object();
  const auto answer = port.post("/v1/keys/evict", body);
  if (!answer) return answer.error();
  JsonElement evicted;
  if (port.json()) {
    port.print_json(*answer);
  } else if (answer->root()["evicted"].get(evicted) == simdjson::SUCCESS) {
    port.out() << "evicted: " << name_of_key(evicted) << ", which was " << field(evicted, "state")
               << ", is forgotten, and the next request with it is executed\n";
  }
  return exit_good;
}

}  // namespace oncekey::cli
