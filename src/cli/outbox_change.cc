#include <ostream>

#include "boundary/json_writer.h"
#include "boundary/utf8.h"
#include "cli/admin_port.h"
#include "cli/flag_values.h"
#include "cli/key_flags.h"
#include "cli/outbox.h"
#include "cli/progress.h"
#include "cli/visible.h"

namespace oncekey::cli {
namespace {

constexpr std::size_t ids_max = 1'000;  // of one call; the admin port's own bound

struct Verb {
  const char* target;
  const char* done;
  const char* meaning;
};

struct Flags {
  std::vector<std::int64_t> ids;
  std::string destination;
  std::string reason;
  bool all = false;
  bool dry_run = false;
};

void declare(CLI::App& app, Flags& flags) {
  app.add_option("ids", flags.ids, "the numbers of dead letters")
      ->type_name("ID")
      ->check(CLI::PositiveNumber);
  declare_reason(app, flags.reason);
  app.add_flag("--all", flags.all, "all dead letters there are now, instead of some");
  app.add_option("--destination", flags.destination, "with --all: only those to this sink")
      ->type_name("NAME");
  app.add_flag("--dry-run", flags.dry_run, "only says which it would be");
}

void check(const Flags& flags) {
  if (!is_utf8(flags.reason)) throw Mistake("--reason is text (UTF-8)");
  if (flags.all == !flags.ids.empty()) throw Mistake("say which IDs, or --all");
  if (!flags.all && !flags.destination.empty()) throw Mistake("--destination belongs to --all");
  if (flags.ids.size() > ids_max) {
    throw Mistake("at most " + std::to_string(ids_max) + " IDs at a time; or --all");
  }
}

std::string question(const std::vector<std::int64_t>& ids, const Flags& flags) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.key("ids");
  json.begin_array();
  for (const std::int64_t id : ids) json.value(id);
  json.end_array();
  json.member("reason", flags.reason);
  if (flags.dry_run) json.member("dry_run", true);
  json.end_object();
  return body;
}

class Work {
 public:
  Work(AdminPort& port, const Flags& flags, const Verb& verb)
      : port_(port), flags_(flags), verb_(verb), progress_(port.err()) {}

  // By number, so that one that dies again meanwhile is not found again.
  int run_all() {
    std::string after;
    do {
      const auto page = port_.get("/v1/outbox" + query_text({{"state", "dead"},
                                                             {"destination", flags_.destination},
                                                             {"limit", std::to_string(ids_max)},
                                                             {"after", after}}));
      if (!page) return stopped(page.error());
      std::vector<std::int64_t> ids;
      for (const JsonElement message : list_field(page->root(), "messages")) {
        ids.push_back(number_field(message, "id"));
      }
      after = field(page->root(), "next");
      if (ids.empty()) break;
      if (const int code = change(ids); code != exit_good) return stopped(code);
      progress_.say(std::to_string(changed_) + " " + verb_.done);
    } while (!after.empty());
    return end();
  }
  int run_some() {
    const int code = change(flags_.ids);
    return code == exit_good ? end() : code;
  }

 private:
  int change(const std::vector<std::int64_t>& ids) {
    if (!flags_.dry_run) {
      const auto answer = port_.post(verb_.target, question(ids, flags_));
      if (!answer) return answer.error();
      changed_ += number_field(answer->root(), "changed");
    }
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    return exit_good;
  }
  int stopped(int code) {
    progress_.clear();
    if (changed_ > 0) port_.err() << "before that, " << changed_ << " were " << verb_.done << '\n';
    return code;
  }
  int end() {
    progress_.clear();
    port_.json() ? print_json() : print_text();
    // Of those that were named each was meant; of all there are, one may have gone meanwhile.
    const auto asked = static_cast<std::int64_t>(ids_.size());
    if (flags_.all || flags_.dry_run || changed_ == asked) return exit_good;
    port_.err() << "oncekey: " << asked - changed_
                << " of these are no dead letters; oncekey outbox show ID tells what each is\n";
    return exit_failed;
  }
  void print_json() {
    std::string body;
    JsonWriter json(body);
    json.begin_object();
    json.key("ids");
    json.begin_array();
    for (const std::int64_t id : ids_) json.value(id);
    json.end_array();
    json.member("dry_run", flags_.dry_run);
    json.member("changed", changed_);
    json.end_object();
    port_.out() << body << '\n';
  }
  void print_text() {
    std::string list;
    for (const std::int64_t id : ids_) list += " " + std::to_string(id);
    if (ids_.empty()) {
      port_.out() << "there are no dead letters\n";
    } else if (flags_.dry_run) {
      port_.out() << ids_.size() << " would be " << verb_.done << "; nothing was changed:" << list
                  << '\n';
    } else {
      port_.out() << changed_ << " of " << ids_.size() << " " << verb_.done << " (" << verb_.meaning
                  << "):" << list << '\n';
    }
  }

  AdminPort& port_;
  const Flags& flags_;
  const Verb& verb_;
  Progress progress_;
  std::vector<std::int64_t> ids_;
  std::int64_t changed_ = 0;
};

int run(CLI::App& app, const Verb& verb, int argc, const char* const* argv,
        const Surroundings& surroundings) {
  AdminPort port(AdminRole::worker, surroundings);
  Flags flags;
  declare(app, flags);
  port.declare(app);
  if (auto code = parse_flags(app, argc, argv, surroundings.out, surroundings.err)) return *code;
  try {
    check(flags);
  } catch (const Mistake& mistake) {
    return port.mistake(mistake.what());
  }
  if (auto code = port.open()) return *code;
  Work work(port, flags, verb);
  return flags.all ? work.run_all() : work.run_some();
}

}  // namespace

int run_outbox_retry(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Try dead letters again, once what stopped them is mended.", "oncekey outbox retry");
  const Verb verb{"/v1/outbox/retry", "retried", "they are tried again, from the first try"};
  return run(app, verb, argc, argv, surroundings);
}

int run_outbox_discard(int argc, const char* const* argv, const Surroundings& surroundings) {
  CLI::App app("Give dead letters up: they are removed, and what waits behind them goes on.",
               "oncekey outbox discard");
  const Verb verb{"/v1/outbox/discard", "discarded", "they are gone"};
  return run(app, verb, argc, argv, surroundings);
}

}  // namespace oncekey::cli
