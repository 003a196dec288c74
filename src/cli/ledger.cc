#include "cli/ledger.h"

#include <ostream>

#include "cli/exit_code.h"
#include "cli/flags.h"
#include "gateway/config_file.h"
#include "gateway/context.h"
#include "gateway/encryption.h"
#include "gateway/ledger_report.h"
#include "gateway/service.h"
#include "store/open.h"

namespace oncekey::cli {
namespace {

int compare(const gateway::Config& config, const Surroundings& surroundings) {
  const auto url = store::parse_store_url(config.store);
  if (!url) {
    surroundings.err << "oncekey: store: " << url.error().message << '\n';
    return exit_usage;
  }
  store::OpenOptions options;
  options.clock = gateway::wall_now_ms;
  options.timeout_ms = gateway::batch_timeout_ms(config);
  auto keyring = gateway::encryption_keyring(config);
  if (!keyring) {
    surroundings.err << "oncekey: " << keyring.error() << '\n';
    return exit_usage;
  }
  options.sealing = {*keyring, false, {}};
  auto store = store::open_store(*url, options);
  if (!store) {
    surroundings.err << "oncekey: " << store.error() << '\n';
    return exit_failed;
  }
  Engine& engine = store->background ? *store->background : *store->lanes[0];
  store::Committer committer(engine, gateway::wall_now_ms);
  recovery::Prober prober;
  const auto counts = gateway::check_ledger(
      config, committer, prober, [&surroundings](const recovery::Difference& difference) {
        surroundings.out << gateway::to_json(difference) << '\n';
      });
  surroundings.out << gateway::to_json(counts) << '\n';
  return counts.error.empty() && counts.differences == 0 ? exit_good : exit_failed;
}

}  // namespace

int run_ledger(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Compare a provider's ledger with our records, in both directions.",
               "oncekey ledger");
  app.footer(
      "Prints a line of JSON for each difference, and one with the counts. Ends with 1 when there\n"
      "are differences or the comparison could not be finished. Changes nothing. [ledger] in the\n"
      "configuration says how the ledger is read; docs/reconciliation.md explains it.");
  std::string config_file;
  std::string store_url;
  app.add_option("--config", config_file, "configuration file (TOML)")
      ->type_name("FILE")
      ->required();
  app.add_option("--store", store_url, "the store with our records")->type_name("STORE");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;

  gateway::ConfigDraft draft;
  gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, surroundings.environment);
  if (app.count("--store") > 0) {
    gateway::set_from_text(draft, "store", store_url, {"--store", 0, 0});
  }
  const auto loaded = gateway::finish_config(std::move(draft), gateway::Upstream::optional);
  if (!loaded) {
    for (const gateway::ConfigError& error : loaded.error()) {
      surroundings.err << to_string(error) << '\n';
    }
    return exit_usage;
  }
  if (loaded->config.ledger.rules.get.empty()) {
    surroundings.err << config_file
                     << ": ledger.get is missing\n  hint: [ledger]\n  get = "
                        "\"http://provider/ledger?after={after}\"\n";
    return exit_usage;
  }
  return compare(loaded->config, surroundings);
}

int run_ledger(int argc, char** argv) {
  return run_ledger(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
