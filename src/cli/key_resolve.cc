#include "cli/key_resolve.h"

#include <ostream>

#include "boundary/json_document.h"
#include "boundary/utf8.h"
#include "cli/flag_values.h"
#include "cli/key.h"
#include "cli/visible.h"
#include "http/field.h"

namespace oncekey::cli {
namespace {

// The texts of the flags, before they are understood.
struct Texts {
  int status = 0;  // 0: none was given
  std::vector<std::string> headers;
  std::string body;
};

struct Flags {
  KeyChange change;
  KeyFlags which;  // with --all
  Outcome outcome;
  Texts answer;
  bool all = false;
  bool dry_run = false;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("key", flags.change.name.key, "the idempotency key")->type_name("KEY");
  declare_reason(app, flags.outcome.reason);
  app.add_option("--fence", flags.change.fence,
                 "only if the record still has this one, as key show had it")
      ->type_name("N")
      ->check(CLI::PositiveNumber);
  const auto what = "What happened";
  app.add_flag("--executed", flags.outcome.executed, "it was; retries get the answer below")
      ->group(what);
  app.add_flag("--not-executed", flags.outcome.not_executed,
               "nothing was; the next retry is executed")
      ->group(what);
  const auto answer = "The answer of what was executed";
  app.add_option("--status", flags.answer.status,
                 "its status; without an answer retries are told that it is not kept")
      ->type_name("N")
      ->check(CLI::Range(200, 599))
      ->group(answer);
  app.add_option("--header", flags.answer.headers, "one of its headers, one that is replayed")
      ->type_name("'Name: value'")
      ->allow_extra_args(false)
      ->group(answer);
  app.add_option("--body", flags.answer.body, "its body; @FILE reads a file, @- standard input")
      ->type_name("TEXT")
      ->group(answer);
  app.add_flag("--fetch", flags.outcome.fetch, "the route's probe is asked for the answer")
      ->group(answer);
  app.add_flag("--all", flags.all, "all unknown outcomes of the filter, instead of one key")
      ->group("Which keys");
  flags.which.declare(app);
  app.add_flag("--dry-run", flags.dry_run, "with --all: only says which keys it would be")
      ->group("Which keys");
}

bool has_answer(const Texts& answer) {
  return answer.status != 0 || !answer.headers.empty() || !answer.body.empty();
}

// What cannot be meant is refused before anything is sent.
void check(const Flags& flags) {
  const Outcome& outcome = flags.outcome;
  if (outcome.executed == outcome.not_executed) throw Mistake("say --executed or --not-executed");
  const bool answered = has_answer(flags.answer);
  if (outcome.not_executed && (answered || outcome.fetch)) {
    throw Mistake("an answer and --fetch belong to --executed");
  }
  if (answered && outcome.fetch) throw Mistake("either an answer or --fetch, not both");
  if (answered && flags.answer.status == 0) throw Mistake("an answer needs its --status");
  if (!is_utf8(outcome.reason)) throw Mistake("--reason is text (UTF-8)");
  if (!flags.all) {
    if (flags.change.name.key.empty()) throw Mistake("say which KEY, or --all with a filter");
    if (flags.dry_run) throw Mistake("--dry-run belongs to --all");
    KeyFlags rest = flags.which;
    rest.tenant.clear();
    if (!rest.empty()) throw Mistake("a filter belongs to --all");
    return;
  }
  if (!flags.change.name.key.empty()) throw Mistake("either a KEY or --all, not both");
  if (flags.change.fence != 0) throw Mistake("--fence belongs to one KEY");
  if (answered) throw Mistake("one answer cannot be that of many requests: --fetch, or none");
  if (flags.which.empty()) {
    throw Mistake("--all needs a filter, such as --route \"POST /payments\" or --older-than 1h");
  }
}

// The answer as the admin API takes it, and a description for the report.
std::string write_answer(JsonWriter& json, const Texts& texts, const Surroundings& surroundings) {
  std::vector<Header> headers = read_headers("--header", texts.headers, surroundings);
  const std::string body = read_body("--body", texts.body);
  if (!is_utf8(body)) throw Mistake("--body is text (UTF-8); other bytes cannot be given here");
  bool typed = false;
  for (const Header& header : headers) {
    typed = typed || http::equals_ignoring_case(header.name, "Content-Type");
  }
  if (!typed && !body.empty() && JsonDocument(body).valid()) {
    headers.push_back({"Content-Type", "application/json"});
  }
  json.key("answer");
  json.begin_object();
  json.member("status", texts.status);
  json.key("headers");
  json.begin_object();
  for (const Header& header : headers) json.member(header.name, header.value);
  json.end_object();
  json.member("body", body);
  json.end_object();
  std::string report = std::to_string(texts.status);
  for (const Header& header : headers) report += ", " + header.name + ": " + header.value;
  return visible(report) + ", " + std::to_string(body.size()) + " bytes";
}

int resolve_one(AdminPort& port, Flags& flags) {
  flags.change.name.tenant = flags.which.tenant;
  flags.change.reason = flags.outcome.reason;
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  if (const auto wrong = flags.change.write(json)) return port.mistake(*wrong);
  json.member("outcome", flags.outcome.executed ? "executed" : "not_executed");
  if (flags.outcome.fetch) json.member("fetch", true);
  std::string given;
  if (has_answer(flags.answer)) given = write_answer(json, flags.answer, port.surroundings());
  json.end_object();
  const auto answer = port.post("/v1/keys/resolve", body);
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
    return exit_good;
  }
  const JsonElement record = answer->root();
  port.out() << "resolved as " << (flags.outcome.executed ? "executed: " : "not executed: ")
             << name_of_key(record) << " is " << field(record, "state") << " now, and ";
  const std::string status = field(record, "response_status");
  if (!given.empty()) {
    port.out() << "retries get " << given << '\n';
  } else if (flags.outcome.not_executed) {
    port.out() << "the next retry is executed\n";
  } else if (!status.empty()) {
    port.out() << "retries get the answer that was fetched (" << status << ")\n";
  } else {
    port.out() << "retries are told that it was executed and its answer is not kept\n";
  }
  return exit_good;
}

}  // namespace

int run_key_resolve(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app(
      "Decide an unknown outcome, once you have found out what really happened. --not-executed on "
      "a "
      "guess is how something is executed twice.",
      "oncekey key resolve");
  AdminPort port(AdminRole::gateway, surroundings);
  Flags flags;
  declare(app, flags);
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  try {
    check(flags);
    if (auto code = port.open()) return *code;
    if (flags.all) return resolve_all(port, flags.which, flags.outcome, flags.dry_run);
    return resolve_one(port, flags);
  } catch (const Mistake& mistake) {
    return port.mistake(mistake.what());
  }
}

}  // namespace oncekey::cli
