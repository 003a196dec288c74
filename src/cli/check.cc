#include "cli/check.h"

#include <ostream>

#include "boundary/json_writer.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "gateway/config_describe.h"
#include "gateway/config_file.h"

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

void print_json(const Loaded& loaded, std::ostream& out) {
  std::string text;
  JsonWriter writer(text);
  writer.begin_object();
  writer.member("valid", loaded.ok());
  write_findings(writer, "errors", loaded ? ConfigErrors{} : loaded.error());
  write_findings(writer, "warnings", loaded ? loaded->warnings : ConfigErrors{});
  if (loaded) {
    writer.key("config");
    writer.raw(gateway::describe_json(loaded->config));
  }
  writer.end_object();
  out << text << '\n';
}

void print_text(const Loaded& loaded, const Surroundings& surroundings) {
  if (!loaded) {
    for (const ConfigError& error : loaded.error()) surroundings.err << to_string(error) << '\n';
    return;
  }
  surroundings.out << gateway::describe(loaded->config);
  if (!loaded->warnings.empty()) surroundings.out << '\n';
  for (const ConfigError& warning : loaded->warnings) {
    surroundings.out << "warning: " << to_string(warning) << '\n';
  }
}

}  // namespace

int run_check(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Check a configuration and print what is in force.", "oncekey check");
  std::string config_file;
  bool json = false;
  app.add_option("--config", config_file, "configuration file (TOML)")->type_name("FILE");
  app.add_flag("--json", json, "print JSON");
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  gateway::ConfigDraft draft;
  if (app.count("--config") > 0) gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, surroundings.environment);
  const Loaded loaded = gateway::finish_config(std::move(draft), gateway::Upstream::optional);
  if (json) {
    print_json(loaded, surroundings.out);
  } else {
    print_text(loaded, surroundings);
  }
  return loaded ? exit_good : exit_usage;
}

int run_check(int argc, char** argv) {
  return run_check(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
