#include <algorithm>
#include <ostream>

#include "cli/admin_port.h"
#include "cli/age.h"
#include "cli/key.h"
#include "cli/key_flags.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/visible.h"

namespace oncekey::cli {
namespace {

constexpr std::int64_t page_max = 1'000;  // the admin port's own bound
constexpr std::size_t key_width = 64;     // a UUID and more: it is to be copied

// What is printed of each record, in one form or the other, page by page.
class Listing {
 public:
  Listing(AdminPort& port, bool wide)
      : port_(port),
        table_({{"KEY", key_width},
                {"STATE"},
                {"AGE"},
                {"CREATED"},
                {"REQUEST", 32},
                {"TENANT", 24},
                {"NOTE", 60}},
               port.style(), wide) {
    if (port_.json()) port_.out() << "{\"keys\":[";
  }

  void add(JsonElement record) {
    ++count_;
    if (port_.json()) {
      port_.out() << (count_ == 1 ? "" : ",") << visible_json(simdjson::minify(record));
      return;
    }
    const std::string state = field(record, "state");
    const std::string created = field(record, "created_at");
    table_.add({field(record, "key"), Cell(state, tone_of(state)), age_of(created, now_ms()),
                created, field(record, "method") + " " + field(record, "path"),
                field(record, "tenant"), field(record, "last_error")});
  }
  void page_is_over() {
    if (!table_.empty()) table_.print(port_.out());
  }
  void end(std::int64_t examined, bool more) {
    if (port_.json()) {
      port_.out() << "],\"examined\":" << examined << ",\"more\":" << (more ? "true" : "false")
                  << "}\n";
      return;
    }
    if (count_ == 0) port_.err() << "no keys (" << examined << " records looked at)\n";
    if (more) port_.err() << "there may be more: --limit N, or --all\n";
  }
  std::int64_t count() const { return count_; }

 private:
  AdminPort& port_;
  Table table_;
  std::int64_t count_ = 0;
};

}  // namespace

int run_key_list(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("List keys: their state, age, request and answer.", "oncekey key list");
  AdminPort port(AdminRole::gateway, surroundings);
  std::string state;
  KeyFlags which;
  std::int64_t limit = 100;
  bool all = false;
  bool wide = false;
  app.add_option("--state", state, "only keys in this state")
      ->type_name("STATE")
      ->group("Which keys")
      ->check(
          CLI::IsMember({"in_progress", "completed", "failed_retryable", "unknown", "expired"}));
  which.declare(app);
  app.add_option("--limit", limit, "at most so many; 100 unless given")
      ->type_name("N")
      ->check(CLI::PositiveNumber)
      ->group("Output");
  app.add_flag("--all", all, "however many there are")->group("Output");
  app.add_flag("--wide", wide, "nothing is cut")->group("Output");
  port.declare(app, AdminPort::Whose::either);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  if (auto code = port.open()) return *code;

  std::optional<Listing> listing;
  Progress progress(surroundings.err);
  std::int64_t examined = 0;
  std::string cursor;
  do {
    const std::int64_t left = all ? page_max : limit - (listing ? listing->count() : 0);
    auto parameters = which.parameters();
    parameters.emplace_back("state", state);
    parameters.emplace_back("limit", std::to_string(std::min(left, page_max)));
    parameters.emplace_back("cursor", cursor);
    const auto page = port.get("/v1/keys" + query_text(parameters));
    if (!page) return page.error();
    if (!listing) listing.emplace(port, wide);
    for (const JsonElement record : list_field(page->root(), "keys")) listing->add(record);
    examined += number_field(page->root(), "examined");
    cursor = field(page->root(), "next");
    progress.clear();
    listing->page_is_over();
    progress.say(std::to_string(examined) + " records looked at, " +
                 std::to_string(listing->count()) + " found");
  } while (!cursor.empty() && (all || listing->count() < limit));
  progress.clear();
  listing->end(examined, !cursor.empty());
  return exit_good;
}

}  // namespace oncekey::cli
