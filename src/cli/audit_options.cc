#include "cli/audit_options.h"

#include <algorithm>
#include <array>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "http/field.h"

namespace oncekey::cli {
namespace {

// The texts of the flags, before they are understood.
struct Texts {
  std::vector<std::string> exceptions;
  std::vector<std::string> headers;
  std::vector<std::string> key_headers;
  std::vector<std::string> methods;
  std::string timeout = "10s";
  std::string ca;
};

void declare(CLI::App& app, Texts& texts, AuditOptions& options) {
  app.add_option("openapi", options.document, "an OpenAPI document (3.0, 3.1), JSON or YAML")
      ->required();
  app.add_option("--config", options.config_file, "a gateway's configuration: does it protect all?")
      ->type_name("FILE");
  const auto what = "What needs a key";
  app.add_option("--methods", texts.methods, "POST,PATCH unless given")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("--except", texts.exceptions, "operations that need none, as a route names them")
      ->type_name("'POST /search'")
      ->allow_extra_args(false)
      ->group(what);
  app.add_option(
         "--key-header", texts.key_headers,
         "how the document names the key; Idempotency-Key or X-Idempotency-Key unless given")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("--base-path", options.settings.base_paths,
                 "what stands before the paths, instead of what the document's servers have")
      ->type_name("/PATH")
      ->allow_extra_args(false)
      ->group(what);
  app.add_flag("--strict", options.settings.strict, "a warning is a gap")->group(what);
  const auto asking = "Asking the API";
  app.add_option("--url", options.url, "send each operation there, without key and body")
      ->group(asking);
  app.add_option("--header", texts.headers, "of every request; {env:NAME} reads the environment")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(asking);
  app.add_option("--ca", texts.ca, "PEM file: whom https:// trusts, instead of the system's")
      ->type_name("FILE")
      ->group(asking);
  app.add_option("--timeout", texts.timeout, "for an answer; 10s unless given")->group(asking);
  app.add_option("--max-requests", options.subject.requests_max,
                 "never more than these; 500 unless given")
      ->check(CLI::Range(1, 1'000'000))
      ->group(asking);
  app.add_flag("--yes", options.yes, "the host may be another machine")->group(asking);
  app.add_flag("--plan", options.plan, "send nothing; say what would be sent")->group(asking);
  const auto output = "Output";
  app.add_flag("--json", options.json, "the report as JSON")->group(output);
  app.add_option("--junit", options.junit_file, "the report as JUnit XML")
      ->type_name("FILE")
      ->group(output);
}

void understand_settings(const Texts& texts, audit::Settings& settings) {
  for (const std::string& name : texts.key_headers) {
    if (!http::is_token(name)) throw Mistake("--key-header is not a header's name: " + name);
  }
  if (!texts.key_headers.empty()) settings.key_headers = texts.key_headers;
  for (const std::string& method : texts.methods) {
    constexpr std::array<std::string_view, 4> known = {"POST", "PATCH", "PUT", "DELETE"};
    if (std::find(known.begin(), known.end(), method) == known.end()) {
      throw Mistake("--methods takes POST, PATCH, PUT and DELETE, not \"" + method + "\"");
    }
  }
  if (!texts.methods.empty()) settings.methods = texts.methods;
  for (const std::string& text : texts.exceptions) {
    const auto pattern = gateway::parse_route_pattern(text);
    if (!pattern) {
      throw Mistake("--except \"" + text + "\": " + pattern.error().message + "; " +
                    pattern.error().hint);
    }
    settings.exceptions.push_back(*pattern);
  }
  for (std::string& path : settings.base_paths) {
    if (!path.starts_with('/')) throw Mistake("--base-path begins with /, not \"" + path + "\"");
    while (path.ends_with('/')) path.pop_back();
  }
}

void understand(const Texts& texts, AuditOptions& options, const Surroundings& surroundings) {
  understand_settings(texts, options.settings);
  if (options.url.empty()) {
    if (options.plan) throw Mistake("--plan needs --url: without it nothing is sent anyway");
    if (!texts.headers.empty()) throw Mistake("--header needs --url");
    return;
  }
  options.subject.url = options.url;
  options.subject.place = read_place("--url", options.url);
  options.subject.headers = read_headers("--header", texts.headers, surroundings);
  options.subject.timeout_ms = read_duration("--timeout", texts.timeout);
  options.subject.tls = read_ca("--ca", texts.ca);
  options.subject.user_agent = "oncekey-audit";
  for (const Header& header : options.subject.headers) {
    for (const std::string& name : options.settings.key_headers) {
      if (http::equals_ignoring_case(header.name, name)) {
        throw Mistake("--header " + name + ": the point is to ask without a key");
      }
    }
  }
}

}  // namespace

Result<AuditOptions, int> parse_audit_options(int argc, const char* const* argv,
                                              const Surroundings& surroundings) {
  CLI::App app("Find the operations of an API that a retry could run twice.", "oncekey audit");
  app.footer(
      "Ends with 0 when there is no gap, with 1 when there is one, with 2 when the document or "
      "the\n"
      "configuration cannot be read. docs/audit.md explains the findings.");
  Texts texts;
  AuditOptions options;
  declare(app, texts, options);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const auto understanding = [&] { understand(texts, options, surroundings); };
  if (auto code = mistake_in(understanding, surroundings)) return *code;
  return options;
}

}  // namespace oncekey::cli
