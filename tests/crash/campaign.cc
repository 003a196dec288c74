#include "crash/campaign.h"

#include <cstdio>
#include <map>
#include <memory>
#include <optional>

#include "crash/load.h"
#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/scripted_upstream.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options),
        upstream_((folder_.path() / "audit.log").string()),
        gateway_({.upstream = upstream_.url(),
                  .store = options.store == "memory"
                               ? "memory:"
                               : options.store + ":" + (folder_.path() / "data").string()}) {
    report_.seed = options.seed;
  }

  CampaignReport run() {
    kill_under_load();
    gateway_.restart();
    expect_nothing_in_progress();
    ask_for_every_key();
    compare_with_audit();
    return report_;
  }

 private:
  void complain(std::string violation) { report_.violations.push_back(std::move(violation)); }

  void kill_under_load() {
    std::mt19937_64 random(options_.seed);
    Load load(ledger_, options_.seed, options_.clients);
    for (int cycle = 1; cycle <= options_.cycles; ++cycle) {
      load.point_at(gateway_.port());
      let_time_pass(Milliseconds(1 + random() % 250));
      gateway_.restart();
      ++report_.kills;
      if (options_.progress && cycle % 10 == 0) {
        std::fprintf(stderr, "%d of %d kills, %zu requests\n", cycle, options_.cycles,
                     load.requests());
      }
    }
    load.point_at(gateway_.port());
    load.stop();
    report_.requests = load.requests();
    report_.connections_lost = load.connections_lost();
    for (std::string& violation : load.violations()) complain(std::move(violation));
  }

  void expect_nothing_in_progress() {
    HttpResponse list = gateway_.admin("/records?state=in_progress&limit=10");
    if (list.status != 200 || !json_at(list.body, "/records")) {
      complain("the list of records cannot be read: " + list.body + list.failure);
    } else if (json_at(list.body, "/records/0")) {
      complain("still in progress: " + json_text(list.body, "/records/0/key"));
    }
  }

  void ask_for_every_key() {
    HttpConnection connection(gateway_.port());
    std::map<std::string, std::string> answers = answers_by_key();
    for (std::size_t number = 0; number < ledger_.size(); ++number) {
      Operation operation = ledger_.at(number);
      if (operation.answer) ++report_.acknowledged;
      HttpResponse response = connection.exchange(Load::request_of(operation));
      bool replayed = response.header("Idempotency-Replayed") == "true";
      bool unknown =
          response.status == 409 && json_text(response.body, "/code") == "outcome_unknown";
      if (operation.answer) {
        check_acknowledged(number, response, replayed);
      } else if (response.status == 201 && replayed) {
        ++report_.unacknowledged_replays;
        if (answers[operation.key] != response.body) {
          complain("key " + operation.key + " replays what the upstream did not answer");
        }
      } else if (response.status == 201) {
        ++report_.executed_at_end;
      } else if (unknown) {
        ++report_.unknown_at_end;
      } else {
        complain("key " + operation.key + " is answered " + std::to_string(response.status) + " " +
                 response.failure + response.body);
      }
      if (replayed) ++report_.replayed_at_end;
    }
    report_.keys = ledger_.size();
  }

  void check_acknowledged(std::size_t number, const HttpResponse& response, bool replayed) {
    if (response.status / 100 != 2 || !replayed) {
      complain("acknowledged key " + ledger_.at(number).key +
               " does not replay: " + std::to_string(response.status) + " " + response.failure);
      return;
    }
    std::string wrong = ledger_.acknowledge(number, response);
    if (!wrong.empty()) complain(wrong);
  }

  std::map<std::string, std::string> answers_by_key() {
    std::map<std::string, std::string> answers;
    for (const Arrival& arrival : upstream_.audit().all()) {
      if (arrival.effect) answers[arrival.key] = arrival.answer;
    }
    return answers;
  }

  void compare_with_audit() {
    std::map<std::string, std::size_t> executions;
    for (const Arrival& arrival : upstream_.audit().all()) {
      ++report_.arrivals;
      std::size_t& before = executions[arrival.key];
      // Whatever the arrival did: work that was done must never be dispatched again.
      if (before > 0) {
        complain("key " + arrival.key + " was dispatched again after its execution, arrival " +
                 std::to_string(arrival.number));
      }
      if (arrival.request.body == "{\"changed\":true}") {
        complain("a changed body reached the upstream, key " + arrival.key);
      }
      if (arrival.effect) {
        ++before;
        ++report_.executions;
      }
    }
  }

  CampaignOptions options_;
  TemporaryFolder folder_;
  ScriptedUpstream upstream_;
  GatewayProcess gateway_;
  Ledger ledger_;
  CampaignReport report_;
};

}  // namespace

CampaignReport run_campaign(const CampaignOptions& options) {
  return Campaign(options).run();
}

}  // namespace oncekey::test
