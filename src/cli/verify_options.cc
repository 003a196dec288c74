#include "cli/verify_options.h"

#include <ostream>

#include "boundary/json_pointer.h"
#include "cli/exit_code.h"
#include "cli/flag_values.h"
#include "cli/flags.h"
#include "http/field.h"

namespace oncekey::cli {
namespace {

constexpr int requests_limit = 1'000'000;

// The texts of the flags, before they are understood.
struct Texts {
  std::string url;
  std::string body;
  std::string second_node;
  std::string effects;
  std::string effects_pointer;
  std::string id_pointer;
  std::string profile = "ietf";
  std::string on_5xx;
  std::string key_format = "bare";
  std::string expires_after;
  std::string later = "5s";
  std::string timeout = "10s";
  std::string head_start = "150ms";
  std::string slow_header;
  std::string fail_header;
  std::string ca;
  std::vector<std::string> statuses;
  std::vector<std::string> headers;
  std::vector<std::string> tenant;
  std::vector<std::string> other_tenant;
};

void declare(CLI::App& app, Texts& texts, VerifyOptions& options) {
  verify::Subject& subject = options.subject;
  app.add_option("url", texts.url, "the operation, such as http://127.0.0.1:8080/orders")
      ->required();
  app.set_config("--file", "", "a file with the flags below as name = value (TOML)");
  app.allow_config_extras(CLI::config_extras_mode::error);
  const auto what = "What is sent";
  app.add_option("--method", subject.method, "POST unless given")->group(what);
  app.add_option("--body", texts.body,
                 "the body, or @FILE; {{uuid}} and {{n}} are new for every operation")
      ->group(what);
  app.add_option("--content-type", subject.content_type, "application/json unless given")
      ->group(what);
  app.add_option("--header", texts.headers, "of every request; {env:NAME} reads the environment")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("--tenant", texts.tenant, "credentials, left out where a check wants none")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("--other-tenant", texts.other_tenant, "credentials of a second tenant")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(what);
  app.add_option("--key-header", subject.key_header, "Idempotency-Key unless given")->group(what);
  app.add_option("--key-format", texts.key_format, "bare or quoted")->group(what);
  app.add_option("--ca", texts.ca, "PEM file: whom https:// trusts, instead of the system's")
      ->type_name("FILE")
      ->group(what);
  const auto seen = "How its effects are seen";
  app.add_option("--effects", texts.effects,
                 "URL or /path of a GET that lists or counts what was created; {{uuid}}, {{n}}")
      ->group(seen);
  app.add_option("--effects-pointer", texts.effects_pointer, "JSON pointer to that list or number")
      ->group(seen);
  app.add_option("--id-pointer", texts.id_pointer, "JSON pointer to the created id in an answer")
      ->group(seen);
  const auto more = "What more checks need";
  app.add_option("--second-node", texts.second_node, "the same operation on another node")
      ->type_name("URL")
      ->group(more);
  app.add_option("--slow-header", texts.slow_header,
                 "makes the operation take half a second or more")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(more);
  app.add_option("--fail-header", texts.fail_header, "makes it answer 5xx, having done nothing")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(more);
  app.add_option("--other-path", subject.other_path, "another path that takes the same body")
      ->group(more);
  app.add_option("--expires-after", texts.expires_after, "the retention, if it is short: 3s")
      ->group(more);
  app.add_flag("--slow", subject.slow, "also the checks that wait")->group(more);
  app.add_flag("--risky", subject.risky, "also PATCH, PUT and DELETE to the same URL")->group(more);
  const auto expect = "What is expected";
  app.add_option("--profile", texts.profile, "ietf or stripe")->group(expect);
  app.add_option("--status", texts.statuses, "missing=, invalid=, mismatch= or in_flight=STATUS")
      ->allow_extra_args(false)
      ->group(expect);
  app.add_option("--on-5xx", texts.on_5xx, "what a retry after 5xx does: retry, replay, unknown")
      ->group(expect);
  const auto bounds = "Bounds";
  app.add_option("--max-requests", subject.requests_max, "never more than these; 500 unless given")
      ->check(CLI::Range(2, requests_limit))
      ->group(bounds);
  app.add_option("--burst", subject.burst, "how many duplicates at once; 20 unless given")
      ->check(CLI::Range(2, verify::burst_max))
      ->group(bounds);
  app.add_option("--timeout", texts.timeout, "for an answer; 10s unless given")->group(bounds);
  app.add_option("--later", texts.later, "when still-kept retries; 5s unless given")->group(bounds);
  app.add_option("--head-start", texts.head_start, "of a running request; 150ms unless given")
      ->group(bounds);
  app.add_option("--only", options.choice.only, "only these checks")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ID,…")
      ->group(bounds);
  app.add_option("--skip", options.choice.skip, "not these checks")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("ID,…")
      ->group(bounds);
  app.add_flag("--yes", options.yes, "the host may be another machine")->group(bounds);
  const auto output = "Output";
  app.add_flag("--plan", options.plan, "send nothing; say what would be sent")->group(output);
  app.add_flag("--json", options.json, "the report as JSON")->group(output);
  app.add_option("--junit", options.junit_file, "the report as JUnit XML")
      ->type_name("FILE")
      ->group(output);
  app.add_option("--html", options.html_file, "the report as one page")
      ->type_name("FILE")
      ->group(output);
}

// The library's own words for an unknown name in the file do not say where or what to do.
std::string failure_text(const CLI::App* app, const CLI::Error& error) {
  const std::string reason = error.what();
  if (error.get_name() != "ConfigError" && error.get_name() != "INIError") {
    return CLI::FailureMessage::simple(app, error);
  }
  return "oncekey: --file: there is no flag named \"" + reason.substr(reason.rfind(' ') + 1) +
         "\"; the names are those of --help, without the dashes\n";
}

void read_effects(const Texts& texts, verify::Subject& subject) {
  for (const auto* pointer : {&texts.effects_pointer, &texts.id_pointer}) {
    if (!pointer->empty() && !valid_json_pointer(*pointer)) {
      throw Mistake("\"" + *pointer + "\" is no JSON pointer (RFC 6901); it begins with /");
    }
  }
  subject.id_pointer = texts.id_pointer;
  if (texts.effects.empty()) {
    if (!texts.effects_pointer.empty()) throw Mistake("--effects-pointer needs --effects");
    return;
  }
  verify::Effects effects;
  if (texts.effects.starts_with('/')) {
    effects.place = {subject.place.server, texts.effects};
  } else {
    effects.place = read_place("--effects", texts.effects);
  }
  effects.pointer = texts.effects_pointer;
  subject.effects = std::move(effects);
}

void read_expectations(const Texts& texts, verify::Subject& subject) {
  const auto expected = verify::expectations_of(texts.profile);
  if (!expected) throw Mistake("--profile is ietf or stripe, not \"" + texts.profile + "\"");
  subject.expected = *expected;
  for (const std::string& status : texts.statuses) {
    const std::string error = verify::change_status(subject.expected, status);
    if (!error.empty()) throw Mistake(error);
  }
  if (!texts.on_5xx.empty()) {
    const auto on_5xx = verify::on_5xx_of(texts.on_5xx);
    if (!on_5xx) throw Mistake("--on-5xx is retry, replay or unknown");
    subject.expected.on_5xx = *on_5xx;
  }
}

void understand(const Texts& texts, VerifyOptions& options, const Surroundings& surroundings) {
  verify::Subject& subject = options.subject;
  subject.url = texts.url;
  subject.place = read_place("the URL", texts.url);
  if (!texts.second_node.empty())
    subject.second_node = read_place("--second-node", texts.second_node);
  if (!http::is_token(subject.method)) throw Mistake("--method is not a method's name");
  if (!http::is_token(subject.key_header)) throw Mistake("--key-header is not a header's name");
  if (texts.key_format != "bare" && texts.key_format != "quoted") {
    throw Mistake("--key-format is bare or quoted");
  }
  if (!subject.other_path.empty() && !subject.other_path.starts_with('/')) {
    throw Mistake("--other-path begins with /");
  }
  subject.quoted_keys = texts.key_format == "quoted";
  subject.body = read_body("--body", texts.body);
  subject.headers = read_headers("--header", texts.headers, surroundings);
  subject.tenant = read_headers("--tenant", texts.tenant, surroundings);
  subject.other_tenant = read_headers("--other-tenant", texts.other_tenant, surroundings);
  subject.slow_header = read_headers("--slow-header", {texts.slow_header}, surroundings);
  subject.fail_header = read_headers("--fail-header", {texts.fail_header}, surroundings);
  subject.later_ms = read_duration("--later", texts.later);
  subject.timeout_ms = read_duration("--timeout", texts.timeout);
  subject.head_start_ms = read_duration("--head-start", texts.head_start);
  if (!texts.expires_after.empty()) {
    subject.expires_after_ms = read_duration("--expires-after", texts.expires_after);
  }
  subject.tls = read_ca("--ca", texts.ca);
  read_effects(texts, subject);
  read_expectations(texts, subject);
}

}  // namespace

Result<VerifyOptions, int> parse_verify_options(int argc, const char* const* argv,
                                                const Surroundings& surroundings) {
  CLI::App app("Find out whether an HTTP API is safe to retry, by sending it duplicates.",
               "oncekey verify");
  app.footer(
      "It creates things: point it at a test system. Ends with 0 when no promise is broken, with "
      "1\n"
      "when one is, with 2 when the API cannot be verified. docs/verify.md explains every check.");
  Texts texts;
  VerifyOptions options;
  declare(app, texts, options);
  app.failure_message(failure_text);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  const auto understanding = [&] { understand(texts, options, surroundings); };
  if (auto code = mistake_in(understanding, surroundings)) return *code;
  return options;
}

}  // namespace oncekey::cli
