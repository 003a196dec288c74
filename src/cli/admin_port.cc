#include "cli/admin_port.h"

#include <ostream>

#include "audit/path_template.h"
#include "cli/command_words.h"
#include "cli/visible.h"
#include "verify/printable.h"

namespace oncekey::cli {

const char* const admin_exit_codes =
    "Exit status: 0 done, 1 failed (of a change: whether it was made is not certain), 2 wrong\n"
    "usage, 3 there is no such thing, 4 refused (not allowed, or its state does not allow it;\n"
    "nothing was changed), 5 nobody answers. The token is --token-file's or ONCEKEY_ADMIN_TOKEN's.";

namespace {

int exit_code_of(int status) {
  if (status == 400) return exit_usage;
  if (status == 401 || status == 403 || status == 409) return exit_refused;
  if (status == 404) return exit_not_found;
  return exit_failed;
}

}  // namespace

std::string query_text(const std::vector<std::pair<std::string_view, std::string>>& parameters) {
  std::string text;
  for (const auto& [name, value] : parameters) {
    if (value.empty()) continue;
    text += text.empty() ? '?' : '&';
    text.append(name).append("=").append(audit::percent_encoded(value));
  }
  return text;
}

AdminPort::AdminPort(AdminRole role, const Surroundings& surroundings)
    : surroundings_(surroundings), style_(style_of_output(surroundings.environment)) {
  flags_.role = role;
}

void AdminPort::declare_without_json(CLI::App& app, Whose whose) {
  declare_admin_flags(app, flags_);
  if (whose == Whose::either) {
    app.add_flag("--worker", worker_, "the worker's admin port instead [http://127.0.0.1:8082]")
        ->group("Where");
  }
  app.footer(admin_exit_codes);
}

void AdminPort::declare(CLI::App& app, Whose whose) {
  app.add_flag("--json", json_, "what the admin port answered, as JSON")->group("Output");
  declare_without_json(app, whose);
}

std::optional<int> AdminPort::open() {
  if (worker_) flags_.role = AdminRole::worker;
  auto place = find_admin(flags_, surroundings_.environment);
  if (!place) return mistake(place.error());
  place_ = std::move(*place);
  return std::nullopt;
}

int AdminPort::mistake(std::string_view text) {
  err() << "oncekey: " << text << '\n';
  return exit_usage;
}

int AdminPort::fail(const ClientAnswer& answer) {
  const Json problem(answer.body);
  std::string detail = problem.valid() ? field(problem.root(), "detail") : "";
  if (detail.empty()) {
    detail = place_->text() + " answered with status " + std::to_string(answer.status) +
             "; is it an oncekey admin port?";
  }
  err() << "oncekey: " << verify::printable(in_command_words(detail)) << '\n';
  if (answer.status == 401) {
    err()
        << "  hint: --token-file FILE, or ONCEKEY_ADMIN_TOKEN, with a token of admin_token_file\n";
  }
  return exit_code_of(answer.status);
}

Result<Json, int> AdminPort::understand(const Result<ClientAnswer, Silence>& answer, bool change) {
  if (!answer) {
    const Silence& silence = answer.error();
    err() << "oncekey: " << verify::printable(silence.why) << '\n';
    if (!silence.sent || !change) return int{exit_unreachable};
    err() << "It was asked for, and no answer came: whether it was done is not certain. Look first "
             "(oncekey changes).\n";
    return int{exit_failed};
  }
  if (answer->status != 200) return fail(*answer);
  Json json(answer->body);
  if (answer->body_cut || !json.valid()) {
    err() << "oncekey: " << place_->text() << " did not answer as an oncekey admin port does\n";
    return int{exit_failed};
  }
  return json;
}

Result<Json, int> AdminPort::get(const std::string& target) {
  const AdminRequest request{"GET", target, "", read_timeout_ms};
  return understand(ask(*place_, request), false);
}

Result<Json, int> AdminPort::post(const std::string& target, const std::string& body,
                                  DurationMs timeout_ms) {
  const AdminRequest request{"POST", target, body, timeout_ms};
  return understand(ask(*place_, request), true);
}

void AdminPort::print_json(const Json& answer) {
  out() << visible_json(answer.text());
  if (!answer.text().ends_with('\n')) out() << '\n';
}

}  // namespace oncekey::cli
