// Dispatches to the commands; each has a file of its own.
#include <cstdio>
#include <string_view>

#include "cli/audit.h"
#include "cli/check.h"
#include "cli/demo.h"
#include "cli/exit_code.h"
#include "cli/healthcheck.h"
#include "cli/ledger.h"
#include "cli/migrate.h"
#include "cli/reload.h"
#include "cli/send.h"
#include "cli/serve.h"
#include "cli/serve_options.h"
#include "cli/verify.h"
#include "cli/worker.h"

namespace {

constexpr std::string_view usage =
    R"(oncekey makes state-changing HTTP APIs safe to retry.

  oncekey serve --to http://127.0.0.1:3000   a gateway before that service, on 127.0.0.1:8080
  oncekey serve --config oncekey.toml        the same, configured
  oncekey check --config oncekey.toml        what a configuration means, and what is wrong with it
  oncekey reload --config oncekey.toml       a running gateway reads its configuration again
  oncekey healthcheck                        whether the gateway of this machine is ready
  oncekey worker --config oncekey.toml       delivers the messages of a database's outbox
  oncekey migrate --store postgres://HOST/DB brings a database to the schema of this version
  oncekey ledger --config oncekey.toml       a provider's ledger compared with our records
  oncekey verify http://HOST/orders          whether an API is safe to retry, ours or not
  oncekey audit openapi.yaml                 which operations of an API a retry could run twice
  oncekey send -d BODY http://HOST/orders    one request, retried under one key until it is certain
  oncekey demo                               a sample service, the gateway and a tour
  oncekey version

Every command explains itself with --help.
)";

int serve(int argc, char** argv) {
  auto options = oncekey::cli::parse_serve_options(argc, argv);
  if (!options) return options.error();
  return oncekey::cli::run_serve(*options);
}

}  // namespace

int main(int argc, char** argv) {
  std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "serve") return serve(argc - 1, argv + 1);
  if (command == "check") return oncekey::cli::run_check(argc - 1, argv + 1);
  if (command == "reload") return oncekey::cli::run_reload(argc - 1, argv + 1);
  if (command == "healthcheck") return oncekey::cli::run_healthcheck(argc - 1, argv + 1);
  if (command == "worker") return oncekey::cli::run_worker(argc - 1, argv + 1);
  if (command == "migrate") return oncekey::cli::run_migrate(argc - 1, argv + 1);
  if (command == "ledger") return oncekey::cli::run_ledger(argc - 1, argv + 1);
  if (command == "verify") return oncekey::cli::run_verify(argc - 1, argv + 1);
  if (command == "audit") return oncekey::cli::run_audit(argc - 1, argv + 1);
  if (command == "send") return oncekey::cli::run_send(argc - 1, argv + 1);
  if (command == "demo") return oncekey::cli::run_demo(argc - 1, argv + 1);
  if (command == "version" || command == "--version") {
    std::puts("oncekey " ONCEKEY_VERSION);
    return 0;
  }
  bool asked = command == "help" || command == "--help" || command == "-h";
  if (!asked && !command.empty()) {
    std::fprintf(stderr, "oncekey: there is no command \"%.*s\"\n\n",
                 static_cast<int>(command.size()), command.data());
  }
  std::fwrite(usage.data(), 1, usage.size(), asked ? stdout : stderr);
  return asked ? oncekey::cli::exit_good : oncekey::cli::exit_usage;
}
