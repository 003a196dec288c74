#include "cli/audit.h"

#include <chrono>
#include <memory>
#include <ostream>

#include "audit/routes.h"
#include "boundary/answer.h"
#include "cli/audit_options.h"
#include "cli/exit_code.h"
#include "cli/flag_values.h"
#include "cli/report_output.h"
#include "cli/style.h"
#include "gateway/config_file.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

struct Routes {
  std::unique_ptr<gateway::RouteTable> table;
  bool by_default = false;  // the configuration has none
};

// As `oncekey serve` would have them. Nothing: what was wrong has been printed.
std::optional<Routes> load_routes(const std::string& file, std::ostream& err) {
  gateway::ConfigDraft draft;
  gateway::read_config_file(draft, file);
  const bool by_default = draft.config.routes.empty();
  const auto loaded = gateway::finish_config(std::move(draft), gateway::Upstream::optional);
  if (!loaded) {
    for (const gateway::ConfigError& error : loaded.error()) err << to_string(error) << '\n';
    return std::nullopt;
  }
  return Routes{std::make_unique<gateway::RouteTable>(loaded->config.routes), by_default};
}

std::optional<audit::Api> load_api(const std::string& file, std::ostream& err) {
  std::string text;
  try {
    text = read_body("the document", "@" + file);
  } catch (const Mistake& mistake) {
    err << "oncekey: " << mistake.what() << '\n';
    return std::nullopt;
  }
  auto api = audit::read_api(text, file);
  if (api) return std::move(*api);
  for (const audit::Problem& problem : api.error()) {
    err << verify::printable(to_string(problem, file)) << '\n';
  }
  return std::nullopt;
}

bool is_asked(const audit::OperationResult& result) {
  return result.needs_key && !result.excepted;
}

int print_plan(const std::vector<audit::OperationResult>& results, const AuditOptions& options,
               std::ostream& out) {
  out << "Nothing is sent. These would be, each once, without a key and without a body:\n\n";
  int count = 0;
  for (const audit::OperationResult& result : results) {
    if (!is_asked(result) || count == options.subject.requests_max) continue;
    const std::string base =
        audit::base_path_for(result.operation, options.subject.place, options.settings.base_paths);
    out << "  " << verify::padded(result.operation.method, 7)
        << (options.subject.place.server.secure ? "https://" : "http://")
        << options.subject.place.server.authority
        << verify::printable(audit::target_of(result.operation, base)) << '\n';
    ++count;
  }
  out << '\n'
      << verify::times(count, "request", "requests")
      << ". An API that asks for neither executes it: the finding this looks for.\n";
  return exit_good;
}

// "", or why nobody could be asked.
std::string ask_all(std::vector<audit::OperationResult>& results, const AuditOptions& options) {
  int asked = 0;
  std::string silence;
  bool any_answer = false;
  for (audit::OperationResult& result : results) {
    if (!is_asked(result) || asked == options.subject.requests_max) continue;
    result.asked = audit::ask(result.operation, options.subject, options.settings.base_paths,
                              options.settings.key_headers);
    ++asked;
    any_answer = any_answer || result.asked->status != 0;
    if (result.asked->status == 0 && silence.empty()) silence = result.asked->what;
  }
  return any_answer ? "" : silence;
}

std::vector<std::string> notes_about(const audit::Api& api,
                                     const std::vector<audit::OperationResult>& results) {
  std::vector<std::string> notes;
  std::string own;
  if (api.webhooks > 0) own = verify::times(api.webhooks, "webhook", "webhooks");
  if (api.callbacks > 0) {
    own += (own.empty() ? "" : " and ") + verify::times(api.callbacks, "callback", "callbacks");
  }
  if (!own.empty())
    notes.push_back("not counted, since this API itself makes these requests: " + own);
  for (const audit::OperationResult& result : results) {
    const bool covered =
        result.protection && result.protection->kind == audit::Protection::Kind::required;
    if (!result.asked || result.asked->kind != audit::Asked::Kind::executed || !covered) continue;
    notes.push_back("the configuration protects " + result.operation.name() +
                    ", which ran without a key: is the URL the gateway's?");
  }
  return notes;
}

audit::Report report_on(const audit::Api& api, std::vector<audit::OperationResult> results,
                        const AuditOptions& options, bool without_routes) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  audit::Report report;
  report.file = options.document;
  report.version = api.version;
  report.title = api.title;
  report.config_file = options.config_file;
  report.url = options.url;
  report.started =
      format_rfc3339(std::chrono::duration_cast<std::chrono::milliseconds>(now).count());
  audit::judge(results, options.settings);
  report.flows = audit::flows_with_gap(results);
  report.notes = notes_about(api, results);
  report.routes = audit::missing_routes(results, options.settings, without_routes);
  report.results = std::move(results);
  return report;
}

}  // namespace

int run_audit(int argc, const char* const* argv, const Surroundings& surroundings) {
  const auto options = parse_audit_options(argc, argv, surroundings);
  if (!options) return options.error();
  const auto api = load_api(options->document, surroundings.err);
  if (!api) return exit_usage;
  Routes routes;
  if (!options->config_file.empty()) {
    auto loaded = load_routes(options->config_file, surroundings.err);
    if (!loaded) return exit_usage;
    routes = std::move(*loaded);
  }
  auto results = audit::results_of(*api, options->settings, routes.table.get());
  if (options->plan) return print_plan(results, *options, surroundings.out);
  if (!options->url.empty() && !options->subject.place.local() && !options->yes) {
    surroundings.err << "oncekey: " << options->subject.place.server.authority
                     << " is another machine. This sends it each operation once, without a key; "
                        "one that needs neither key nor body is executed. If it is yours to test, "
                        "say --yes; --plan shows what would be sent.\n";
    return exit_usage;
  }
  if (!can_write(options->junit_file, surroundings.err)) return exit_usage;
  const std::string silence = options->url.empty() ? "" : ask_all(results, *options);
  if (!silence.empty()) {
    surroundings.err << "oncekey: " << options->url << " cannot be asked: " << silence << '\n';
    return exit_usage;
  }
  const audit::Report report = report_on(*api, std::move(results), *options, routes.by_default);
  surroundings.out << (options->json
                           ? to_json(report)
                           : to_text(report, style_of_output(surroundings.environment).colour));
  if (!write_file(options->junit_file, to_junit(report), surroundings.err)) return exit_usage;
  return report.count(audit::Verdict::fail) == 0 ? exit_good : exit_failed;
}

int run_audit(int argc, char** argv) {
  return run_audit(argc, argv, process_surroundings());
}

}  // namespace oncekey::cli
