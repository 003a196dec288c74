#include <ostream>

#include "cli/command_words.h"
#include "cli/key_resolve.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/visible.h"

namespace oncekey::cli {
namespace {

// So many for each question: a short one says sooner how far it is. A probe may take seconds.
constexpr int page_settled = 100;
constexpr int page_fetched = 10;

std::string question(const KeyFlags& which, const Outcome& outcome, bool dry_run,
                     const std::string& cursor) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.key("filter");
  json.begin_object();
  for (const auto& [name, value] : which.parameters()) {
    if (!value.empty()) json.member(name, value);
  }
  json.end_object();
  json.member("outcome", outcome.executed ? "executed" : "not_executed");
  if (outcome.fetch) json.member("fetch", true);
  json.member("reason", outcome.reason);
  json.member("limit", outcome.fetch ? page_fetched : page_settled);
  if (dry_run) json.member("dry_run", true);
  if (!cursor.empty()) json.member("cursor", cursor);
  json.end_object();
  return body;
}

struct Totals {
  std::int64_t matched = 0;
  std::int64_t resolved = 0;
  std::int64_t examined = 0;
};

std::string problem_of(JsonElement key) {
  JsonElement problem;
  if (key["problem"].get(problem) != simdjson::SUCCESS) return "";
  return in_command_words(field(problem, "detail"));
}

// One line for each key, or one JSON object in all.
class Report {
 public:
  Report(AdminPort& port, bool dry_run) : port_(port), dry_run_(dry_run) {}

  void add(JsonElement key) {
    if (port_.json()) {
      port_.out() << (any_ ? "," : "{\"keys\":[") << visible_json(simdjson::minify(key));
    } else {
      bool resolved = false;
      if (key["resolved"].get(resolved) != simdjson::SUCCESS) resolved = false;
      const char* word = "not resolved";
      if (resolved) word = "resolved";
      if (dry_run_) word = "would resolve";
      port_.out() << word << ": " << name_of_key(key);
      if (!dry_run_ && !resolved) port_.out() << ": " << visible(problem_of(key));
      port_.out() << '\n';
    }
    any_ = true;
  }
  void end(const Totals& totals, const Outcome& outcome) {
    if (port_.json()) {
      port_.out() << (any_ ? "" : "{\"keys\":[")
                  << "],\"dry_run\":" << (dry_run_ ? "true" : "false")
                  << ",\"matched\":" << totals.matched << ",\"resolved\":" << totals.resolved
                  << ",\"examined\":" << totals.examined << "}\n";
      return;
    }
    const std::string as = outcome.executed ? "executed" : "not executed";
    if (dry_run_) {
      port_.out() << totals.matched << " would be resolved as " << as << "; nothing was changed\n";
    } else {
      port_.out() << totals.resolved << " of " << totals.matched << " resolved as " << as << '\n';
    }
  }

 private:
  AdminPort& port_;
  const bool dry_run_;
  bool any_ = false;
};

}  // namespace

int resolve_all(AdminPort& port, const KeyFlags& which, const Outcome& outcome, bool dry_run) {
  Totals totals;
  Report report(port, dry_run);
  Progress progress(port.err());
  std::string cursor;
  do {
    const auto page = port.post("/v1/keys/resolve-many", question(which, outcome, dry_run, cursor));
    progress.clear();
    if (!page) {
      if (totals.resolved > 0) {
        port.err() << "before that, " << totals.resolved
                   << " were resolved; the same command goes on\n";
      }
      return page.error();
    }
    for (const JsonElement key : list_field(page->root(), "keys")) report.add(key);
    port.out().flush();
    totals.matched += number_field(page->root(), "matched");
    totals.resolved += number_field(page->root(), "resolved");
    totals.examined += number_field(page->root(), "examined");
    cursor = field(page->root(), "next");
    progress.say(std::to_string(totals.examined) + " unknown outcomes looked at, " +
                 std::to_string(totals.resolved) + " resolved");
  } while (!cursor.empty());
  progress.clear();
  report.end(totals, outcome);
  return dry_run || totals.resolved == totals.matched ? exit_good : exit_failed;
}

}  // namespace oncekey::cli
