// Dispatches to the commands; each has a file of its own.
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "store/url_secrets.h"

namespace {

constexpr std::string_view usage =
    R"(oncekey makes state-changing HTTP APIs safe to retry.

  oncekey serve --to http://127.0.0.1:3000   a gateway before that service, on 127.0.0.1:8080
  oncekey serve --config oncekey.toml        the same, configured
  oncekey check --config oncekey.toml        what a configuration means, and what is wrong with it
  oncekey reload --config oncekey.toml       a running gateway reads its configuration again
  oncekey healthcheck                        whether the gateway of this machine is ready
  oncekey status                             how it is: store, records, unknown outcomes
  oncekey key list --state unknown           what is known of keys; show, timeline, resolve, release, evict
  oncekey route list                         its routes; pause and resume them
  oncekey tail                               what it does, live
  oncekey changes                            what operators changed, who and why
  oncekey outbox list --dead                 a worker's messages; show, retry and discard them
  oncekey worker --config oncekey.toml       delivers the messages of a database's outbox
  oncekey migrate --store postgres://HOST/DB brings a database to the schema of this version
  oncekey ledger --config oncekey.toml       a provider's ledger compared with our records
  oncekey verify http://HOST/orders          whether an API is safe to retry, ours or not
  oncekey audit openapi.yaml                 which operations of an API a retry could run twice
  oncekey send -d BODY http://HOST/orders    one request, retried under one key until it is certain
  oncekey demo                               a sample service, the gateway and a tour
  oncekey completions bash                   completions for a shell: bash, zsh, fish
  oncekey man [COMMAND]                      the manual
  oncekey version

Every command explains itself with --help.
)";

}  // namespace

int main(int argc, char** argv) {
  std::string_view command = argc > 1 ? argv[1] : "";
  if (const auto* known = oncekey::cli::find_command(oncekey::cli::commands(), command)) {
    return oncekey::cli::run_command(*known, argc - 1, argv + 1,
                                     oncekey::cli::process_surroundings());
  }
  if (command == "version" || command == "--version") {
    std::puts("oncekey " ONCEKEY_VERSION);
    return 0;
  }
  bool asked = command == "help" || command == "--help" || command == "-h";
  if (!asked && !command.empty()) {
    const std::string shown = oncekey::store::without_passwords(command);
    std::fprintf(stderr, "oncekey: there is no command \"%.*s\"\n\n",
                 static_cast<int>(shown.size()), shown.data());
  }
  std::fwrite(usage.data(), 1, usage.size(), asked ? stdout : stderr);
  return asked ? oncekey::cli::exit_good : oncekey::cli::exit_usage;
}
