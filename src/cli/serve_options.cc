#include "cli/serve_options.h"

#include <unistd.h>

#include <iostream>
#include <map>
#include <sstream>

#include "cli/exit_code.h"
#include "cli/flags.h"
#include "gateway/config_file.h"

namespace oncekey::cli {
namespace {

struct Flag {
  const char* name;
  const char* setting;
  const char* value;
  const char* help;
};

constexpr Flag flags[] = {
    {"--to", "upstream", "URL", "the service to protect, http://host:port"},
    {"--listen", "listen", "HOST:PORT", "where clients connect [127.0.0.1:8080]"},
    {"--admin", "admin", "HOST:PORT", "health, metrics, look-up [127.0.0.1:8081]"},
    {"--store", "store", "STORE",
     "rocksdb:PATH, sqlite:PATH, postgres://… (or postgresql://), redis://…, redis+cluster://…, "
     "postgres://…+redis://…, memory: [rocksdb:./oncekey-data]"},
    {"--log-level", "log.level", "LEVEL", "debug, info, warn, error or off [info]"},
    {"--log-format", "log.format", "FORMAT", "json or text [json]"},
    {"--threads", "threads", "N",
     "I/O threads; 0: half the cores (shared store: all), at most 4 [0]"},
};

}  // namespace

Surroundings process_surroundings() {
  return {environ, std::cout, std::cerr};
}

Result<ServeOptions, int> parse_serve_options(int argc, const char* const* argv,
                                              const Surroundings& surroundings) {
  CLI::App app("Make the HTTP service behind it safe to retry.", "oncekey serve");
  app.footer(
      "Flags win over the environment (ONCEKEY_LISTEN, ...), which wins over the file.\n"
      "docs/configuration.md explains every setting.");
  std::string config_file;
  app.add_option("--config", config_file, "configuration file (TOML)")->type_name("FILE");
  std::map<std::string, std::string> values;
  for (const Flag& flag : flags) {
    app.add_option(flag.name, values[flag.name], flag.help)->type_name(flag.value);
  }
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;

  gateway::ConfigDraft draft;
  if (app.count("--config") > 0) gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, surroundings.environment);
  for (const Flag& flag : flags) {
    if (app.count(flag.name) == 0) continue;
    gateway::set_from_text(draft, flag.setting, values[flag.name], {flag.name, 0, 0});
  }
  auto loaded = gateway::finish_config(std::move(draft), gateway::Upstream::required);
  if (!loaded) {
    for (const gateway::ConfigError& error : loaded.error()) {
      surroundings.err << to_string(error) << '\n';
    }
    return exit_usage;
  }
  return ServeOptions{loaded->config, loaded->warnings, config_file,
                      std::vector<std::string>(argv, argv + argc)};
}

Result<gateway::LoadedConfig, std::string> read_again(const ServeOptions& options) {
  if (options.config_file.empty()) {
    return std::string("the gateway was started without --config: there is no file to read again");
  }
  std::vector<const char*> words;
  for (const std::string& word : options.arguments) words.push_back(word.c_str());
  std::ostringstream out, problems;
  auto parsed =
      parse_serve_options(static_cast<int>(words.size()), words.data(), {environ, out, problems});
  if (parsed) return gateway::LoadedConfig{parsed->config, parsed->warnings};
  std::string text = problems.str();
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

Result<ServeOptions, int> parse_serve_options(int argc, char** argv) {
  return parse_serve_options(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
