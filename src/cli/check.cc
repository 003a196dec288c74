#include "cli/check.h"

#include <algorithm>
#include <ostream>
#include <stdexcept>

#include "boundary/json_writer.h"
#include "cli/check_store.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "gateway/config_describe.h"
#include "gateway/config_file.h"
#include "gateway/tenant_files.h"

namespace oncekey::cli {
namespace {

using gateway::ConfigError;
using gateway::ConfigErrors;
using Loaded = Result<gateway::LoadedConfig, ConfigErrors>;

void write_findings(JsonWriter& writer, std::string_view name, const ConfigErrors& findings) {
  writer.key(name);
  writer.begin_array();
  for (const ConfigError& finding : findings) {
    writer.begin_object();
    writer.member("file", finding.file);
    writer.member("line", finding.line);
    writer.member("column", finding.column);
    writer.member("message", finding.message);
    if (!finding.hint.empty()) writer.member("hint", finding.hint);
    writer.end_object();
  }
  writer.end_array();
}

void print_json(const Loaded& loaded, const std::vector<StoreFinding>& servers, std::ostream& out) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("valid", loaded.ok());
  write_findings(writer, "errors", loaded ? ConfigErrors{} : loaded.error());
  write_findings(writer, "warnings", loaded ? loaded->warnings : ConfigErrors{});
  if (loaded) {
    writer.key("config");
    writer.raw(gateway::describe_json(loaded->config));
    writer.key("servers");
    writer.begin_array();
    for (const StoreFinding& server : servers) write_json(writer, server);
    writer.end_array();
  }
  writer.end_object();
  out << text << '\n';
}

void print_text(const Loaded& loaded, const std::vector<StoreFinding>& servers,
                const Surroundings& surroundings) {
  if (!loaded) {
    for (const ConfigError& error : loaded.error()) surroundings.err << to_string(error) << '\n';
    return;
  }
  surroundings.out << gateway::describe(loaded->config);
  if (!loaded->warnings.empty()) surroundings.out << '\n';
  for (const ConfigError& warning : loaded->warnings) {
    surroundings.out << "warning: " << to_string(warning) << '\n';
  }
  for (const StoreFinding& server : servers) surroundings.out << '\n' << to_text(server);
}

// Files of keys are part of what is in force: without them nothing would be served.
Loaded with_tenant_files(Loaded loaded) {
  if (!loaded) return loaded;
  try {
    gateway::open_tenant_files(loaded->config.tenant, nullptr);
    return loaded;
  } catch (const std::runtime_error& problem) {
    return ConfigErrors{ConfigError{"", 0, 0, problem.what(), ""}};
  }
}

std::vector<StoreFinding> look_at_servers(const gateway::Config& config) {
  const auto url = store::parse_store_url(config.store);
  return url ? look_at_store(*url) : std::vector<StoreFinding>{};
}

}  // namespace

int run_check(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Check a configuration and its store, and print what is in force.", "oncekey check");
  std::string config_file;
  std::string store_url;
  bool json = false;
  bool offline = false;
  app.add_option("--config", config_file, "configuration file (TOML)")->type_name("FILE");
  app.add_option("--store", store_url, "the store, instead of the file's")->type_name("STORE");
  app.add_flag("--offline", offline, "do not connect to the store");
  app.add_flag("--json", json, "print JSON");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  gateway::ConfigDraft draft;
  if (app.count("--config") > 0) gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, surroundings.environment);
  if (app.count("--store") > 0) {
    gateway::set_from_text(draft, "store", store_url, {"--store", 0, 0});
  }
  const Loaded loaded =
      with_tenant_files(gateway::finish_config(std::move(draft), gateway::Upstream::optional));
  std::vector<StoreFinding> servers;
  if (loaded && !offline) servers = look_at_servers(loaded->config);
  if (json) {
    print_json(loaded, servers, surroundings.out);
  } else {
    print_text(loaded, servers, surroundings);
  }
  if (!loaded) return exit_usage;
  const bool good = std::all_of(servers.begin(), servers.end(),
                                [](const StoreFinding& server) { return server.good(); });
  return good ? exit_good : exit_failed;
}

int run_check(int argc, char** argv) {
  return run_check(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
