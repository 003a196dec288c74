#include "cli/healthcheck.h"

#include <ostream>

#include "cli/admin_place.h"
#include "cli/flags.h"

namespace oncekey::cli {
namespace {

// Longer than timeouts.store, after which the gateway itself says that its store does not answer.
constexpr DurationMs healthcheck_timeout_ms = 6'000;

}  // namespace

int run_healthcheck(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Ask a gateway whether it is ready: exit 0 when it is, 1 when it is not.",
               "oncekey healthcheck");
  AdminFlags where;
  declare_admin_flags(app, where);
  app.footer("Without flags, ONCEKEY_ADMIN or the default address is asked for /readyz.");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const auto place = find_admin(where, surroundings.environment);
  if (!place) {
    surroundings.err << "oncekey: " << place.error() << '\n';
    return exit_usage;
  }
  const auto answer = ask(*place, {"GET", "/readyz", "", healthcheck_timeout_ms});
  if (!answer) {
    surroundings.err << "not ready: " << answer.error().why << '\n';
    return exit_failed;
  }
  std::ostream& out = answer->status == 200 ? surroundings.out : surroundings.err;
  out << answer->body;
  return answer->status == 200 ? exit_good : exit_failed;
}

int run_healthcheck(int argc, char** argv) {
  return run_healthcheck(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
