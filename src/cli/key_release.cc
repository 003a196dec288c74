#include <ostream>

#include "cli/admin_port.h"
#include "cli/key.h"
#include "cli/key_flags.h"

namespace oncekey::cli {

int run_key_release(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "Vouch that nothing was executed. An unknown outcome becomes failed_retryable, and the next "
      "retry is executed: on a guess, it may be executed twice.",
      "oncekey key release");
  AdminPort port(AdminRole::gateway, surroundings);
  KeyChange change;
  change.declare(app);
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  if (const auto wrong = change.write(json)) return port.mistake(*wrong);
  json.end_object();
  const auto answer = port.post("/v1/keys/release", body);
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
  } else {
    port.out() << "released: " << name_of_key(answer->root()) << " is "
               << field(answer->root(), "state") << " now, and the next retry is executed\n";
  }
  return exit_good;
}

}  // namespace oncekey::cli
