#include "crash/campaign.h"

#include <algorithm>
#include <cstdio>
#include <random>

#include "crash/inquest.h"
#include "crash/ledger.h"
#include "crash/load.h"
#include "crash/resumption.h"
#include "crash/stage.h"
#include "support/scripted_upstream.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

// Short leases (shared_store_settings), a sweep every half second, and a busy machine.
constexpr Milliseconds sweep_patience{15'000};

constexpr Milliseconds brief_outage{300};
constexpr std::size_t requests_min = 500;

class Campaign {
 public:
  explicit Campaign(const CampaignOptions& options)
      : options_(options),
        upstream_((folder_.path() / "audit.log").string()),
        stage_({.store = options.store,
                .append_fsync = options.append_fsync,
                .upstream = upstream_.url(),
                .logs = options.logs}) {
    report_.store = options.store;
    report_.seed = options.seed;
    report_.loss_is_violation = options.append_fsync == "always";
  }

  CampaignReport run() {
    disturb_under_load();
    stage_.restart_gateways();
    Inquest inquest(ledger_, upstream_.audit(), outages_, report_);
    // An embedded store knows at its start that nobody works on its records.
    inquest.expect_all_settled(stage_.gateway(0),
                               stage_.is_shared() ? sweep_patience : Milliseconds(0));
    if (stage_.has_cache()) fill_and_poison_cache();
    inquest.ask_for_every_key(ports());
    inquest.compare_with_audit();
    report_.poisoned = stage_.poisoned();
    return report_;
  }

 private:
  void disturb_under_load() {
    Load load(ledger_, {.seed = options_.seed,
                        .clients = options_.clients,
                        .gateways = stage_.gateways(),
                        .pause_max = Milliseconds(stage_.is_shared() ? 10 : 0)});
    auto port_changed = [&](std::size_t gateway, std::uint16_t port) {
      load.point_at(gateway, port);
    };
    for (std::size_t number = 0; number < stage_.gateways(); ++number) {
      load.point_at(number, stage_.gateway(number).port());
    }
    std::vector<Disturbance> plan =
        plan_of(options_.store, options_.cycles, options_.seed, options_.only);
    for (Disturbance& disturbance : plan) {
      if (options_.brief) disturbance.lasts = std::min(disturbance.lasts, brief_outage);
      let_time_pass(disturbance.after);
      outages_.push_back(stage_.strike(disturbance, port_changed));
      Milliseconds resumed{0};
      if (stage_.is_shared()) resumed = await_service(ledger_, ports(), report_.findings);
      report_.resumed[disturbance.blow].push_back(resumed);
      if (stage_.has_cache()) ask_again(disturbance.detail);
      if (options_.progress) tell(disturbance, resumed, load.figures().requests);
    }
    // On a slow machine the pauses between disturbances are not enough to show anything.
    eventually([&] { return load.figures().requests >= requests_min; });
    load.stop();
    report_.load = load.figures();
    for (Finding& finding : load.findings()) report_.findings.push_back(std::move(finding));
  }

  void tell(const Disturbance& disturbance, Milliseconds resumed, std::size_t requests) const {
    std::size_t done = report_.disturbances();
    if (!stage_.is_shared() && done % 10 != 0) return;
    std::string name(name_of(disturbance.blow));
    std::fprintf(stderr, "%zu of %d: %s, %lld ms; served again %lld ms later; %zu requests\n", done,
                 options_.cycles, name.c_str(), static_cast<long long>(disturbance.lasts.count()),
                 static_cast<long long>(resumed.count()), requests);
  }

  std::vector<std::uint16_t> ports() {
    std::vector<std::uint16_t> all;
    for (std::size_t number = 0; number < stage_.gateways(); ++number) {
      all.push_back(stage_.gateway(number).port());
    }
    return all;
  }

  // Recent answers from the gateway that keeps none in memory: from the cache, whatever has been
  // done to it, or from where the truth is.
  void ask_again(std::uint64_t seed) {
    constexpr int questions = 40;
    std::mt19937_64 random(seed);
    HttpConnection connection(stage_.gateway(stage_.gateways() - 1).port());
    for (int question = 0; question < questions; ++question) {
      auto number = ledger_.pick_recent(random);
      if (!number || !ledger_.at(*number).answer) continue;
      HttpResponse response = connection.exchange(ledger_.at(*number).request());
      if (!is_final(response)) continue;
      std::string wrong = ledger_.acknowledge(*number, response);
      if (wrong.empty()) continue;
      report_.findings.push_back({Finding::Kind::fault, ledger_.at(*number).key, wrong});
    }
  }

  // Every answer into the cache, half of them spoiled, before all of them are checked.
  void fill_and_poison_cache() {
    HttpConnection connection(stage_.gateway(stage_.gateways() - 1).port());
    std::size_t recent = std::min<std::size_t>(ledger_.size(), 2000);
    for (std::size_t number = ledger_.size() - recent; number < ledger_.size(); ++number) {
      if (ledger_.at(number).answer) connection.exchange(ledger_.at(number).request());
    }
    stage_.poison(options_.seed);
  }

  CampaignOptions options_;
  TemporaryFolder folder_;
  ScriptedUpstream upstream_;
  Stage stage_;
  Ledger ledger_;
  std::vector<Outage> outages_;
  CampaignReport report_;
};

}  // namespace

CampaignReport run_campaign(const CampaignOptions& options) {
  return Campaign(options).run();
}

}  // namespace oncekey::test
