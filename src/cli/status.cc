#include "cli/status.h"

#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/route.h"
#include "cli/table.h"

namespace oncekey::cli {
namespace {

std::string truth(JsonElement object, std::string_view name, const char* yes, const char* no) {
  return field(object, name) == "true" ? yes : no;
}

void add_process(Sheet& sheet, JsonElement status, const std::string& place) {
  sheet.add("address", place);
  sheet.add("version", field(status, "version"));
  sheet.add("node", field(status, "node"));
  sheet.add("started", instant_and_age(field(status, "started_at"), now_ms()));
  if (field(status, "draining") == "true") sheet.add("draining", "yes: it is ending", Tone::bad);
}

void add_cache(Sheet& sheet, JsonElement cache) {
  const bool works = field(cache, "works") == "true";
  std::string text = works ? "works" : "does not work: " + field(cache, "trouble");
  const std::string refused = field(cache, "refused_entries");
  if (refused != "0")
    text += "; " + refused + " of its entries refused: not what a gateway put there";
  sheet.add("cache", text, works && refused == "0" ? Tone::plain : Tone::doubtful);
}

void add_store(Sheet& sheet, JsonElement store) {
  sheet.add("store", field(store, "name") + truth(store, "shared", ", shared", ", embedded"));
  const std::string risk = truth(store, "at_risk", "at risk: ", "");
  sheet.add("durability", risk + field(store, "durability"),
            risk.empty() ? Tone::plain : Tone::bad);
  const std::string breaker = field(store, "breaker");
  if (!breaker.empty()) {
    const bool good = breaker == "closed";
    sheet.add("breaker",
              breaker + ", opened " + field(store, "breaker_opens") + " times since the start",
              good ? Tone::plain : Tone::bad);
  }
  sheet.add("store down", field(store, "down"), Tone::bad);
  sheet.add("takes no writes", field(store, "refuses_writes"), Tone::bad);
  JsonElement cache;
  if (store["cache"].get(cache) == simdjson::SUCCESS) add_cache(sheet, cache);
}

constexpr const char* not_known = "not known";

void add_records(Sheet& sheet, JsonElement records) {
  sheet.add("in progress", field(records, "in_progress"));
  sheet.add("retryable", field(records, "failed_retryable"));
  const std::string settled = field(records, "settled_estimate");
  if (!settled.empty()) sheet.add("settled", "about " + settled);
}

// `counted`: by the store itself; otherwise only the first were looked at.
void add_unknown(Sheet& sheet, JsonElement unknown, bool counted) {
  if (!has_field(unknown, "count")) return sheet.add("unknown", not_known, Tone::doubtful);
  const bool any = number_field(unknown, "count") > 0;
  std::string text = field(unknown, "count");
  const bool all_seen = field(unknown, "all_examined") != "false";
  if (any && !counted && !all_seen) text += " or more";
  const std::string queue = field(unknown, "for_operator");
  if (!queue.empty() && queue != "0") text += ", of which " + queue + " wait for an operator";
  sheet.add("unknown", text, any ? Tone::doubtful : Tone::plain);
  JsonElement oldest;
  if (unknown["oldest"].get(oldest) != simdjson::SUCCESS) return;
  sheet.add(all_seen ? "oldest of them" : "an old one",
            field(oldest, "key") + " (tenant " + field(oldest, "tenant") + ", " +
                field(oldest, "method") + " " + field(oldest, "path") + "), " +
                instant_and_age(field(oldest, "created_at"), now_ms()));
}

void add_outbox(Sheet& sheet, JsonElement outbox) {
  const bool up = field(outbox, "database_answers") == "true";
  sheet.add("database", up ? "answers" : "does not answer", up ? Tone::plain : Tone::bad);
  std::string waiting = field(outbox, "waiting");
  const DurationMs age = number_field(outbox, "oldest_age_ms");
  if (age > 0) waiting += ", the oldest for " + duration_text(age);
  sheet.add("waiting", waiting);
  const bool dead = number_field(outbox, "dead_letters") > 0;
  sheet.add("dead letters", field(outbox, "dead_letters"), dead ? Tone::bad : Tone::plain);
  sheet.add("under way", field(outbox, "held"));
}

void print_status(JsonElement status, AdminPort& port) {
  Sheet sheet(port.style());
  add_process(sheet, status, port.place().text());
  JsonElement part;
  if (status["store"].get(part) == simdjson::SUCCESS) add_store(sheet, part);
  if (status["outbox"].get(part) == simdjson::SUCCESS) add_outbox(sheet, part);
  if (status["records"].get(part) == simdjson::SUCCESS) {
    add_records(sheet, part);
  } else if (has_field(status, "store")) {  // a worker counts none
    sheet.add("in progress", not_known, Tone::doubtful);
  }
  if (status["unknown"].get(part) == simdjson::SUCCESS)
    add_unknown(sheet, part, has_field(status, "records"));
  for (const JsonElement pause : list_field(status, "paused")) {
    sheet.add("paused", field(pause, "route") + " " + pause_text(pause), Tone::doubtful);
  }
  sheet.print(port.out());
}

}  // namespace

int run_status(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Tell how a gateway is: its store, records by state, unknown outcomes, pauses.",
               "oncekey status");
  AdminPort port(AdminRole::gateway, surroundings);
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;
  const auto answer = port.get("/v1/status");
  if (!answer) return answer.error();
  if (port.json()) {
    port.print_json(*answer);
  } else {
    print_status(answer->root(), port);
  }
  return exit_good;
}

}  // namespace oncekey::cli
