#include "payments/campaign.h"

#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <random>
#include <stdexcept>

#include "oncekey/derived_key.h"
#include "payments/clients.h"
#include "payments/stage.h"
#include "support/json_text.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr Milliseconds healing_max{120'000};
constexpr int page = 1000;

using Clock = std::chrono::steady_clock;

// Declines and duplicate, late and lost webhooks among them: everything the provider can do.
PaymentsOptions stage_options(const PaymentsCampaignOptions& options, const std::string& postgres) {
  return {.database = options.database,
          .postgres_url = postgres,
          .provider_flags = {"--faults", std::to_string(options.seed % 1'000'000) + ":0.1"},
          .service_flags = {"--call-timeout-ms", "300", "--lease-ms", "1000", "--connections", "8"},
          .sink_settings = "attempts_max = 1000\n"};
}

class Campaign {
 public:
  explicit Campaign(const PaymentsCampaignOptions& options)
      : options_(options),
        server_(options.database == "postgres" ? std::make_unique<PostgresServer>() : nullptr),
        stage_(stage_options(options, server_ ? server_->url() : "")) {
    report_.options = options;
  }

  PaymentsCampaignReport run() {
    const auto start = Clock::now();
    stage_.start_worker();
    {
      PaymentClients clients(stage_.port(), options_.seed, options_.count, options_.clients);
      disturb(clients);
      heal(clients);
      if (report_.violations.empty()) clients.ask_again();
      report_.violations.insert(report_.violations.end(), clients.violations().begin(),
                                clients.violations().end());
      compare(clients.operations());
      const ClientFigures figures = clients.figures();
      report_.requests = figures.requests;
      report_.connections_lost = figures.connections_lost;
      report_.replays = figures.replays;
    }
    report_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return report_;
  }

 private:
  void disturb(const PaymentClients& clients) {
    std::mt19937_64 random(options_.seed);
    auto told = Clock::now();
    for (std::size_t next = 0;;) {
      next += 1 + random() % (2 * options_.payments_per_kill);
      if (next >= options_.count) return;
      if (!eventually([&] { return clients.begun() >= next; }, healing_max)) {
        return violation("clients that make no progress");
      }
      switch (random() % 3) {
        case 0:
          stage_.kill_service();
          if (!stage_.start_service()) throw std::runtime_error(stage_.service().output());
          ++report_.service_kills;
          break;
        case 1:
          stage_.kill_worker();
          stage_.start_worker();
          ++report_.worker_kills;
          break;
        default:
          stage_.provider().restart();
          ++report_.provider_kills;
      }
      if (options_.progress && Clock::now() - told > std::chrono::seconds(5)) {
        told = Clock::now();
        std::fprintf(stderr, "%zu of %zu payments, %zu kills\n", clients.begun(), options_.count,
                     report_.kills());
      }
    }
  }

  void heal(const PaymentClients& clients) {
    if (!eventually([&] { return clients.done(); }, healing_max)) {
      violation("clients that never get an answer");
    }
    if (!eventually([this] { return stage_.unfinished().empty(); }, healing_max)) {
      violation("left hanging: " + stage_.unfinished());
    }
  }

  // The provider's ledger by key: what really happened.
  std::map<std::string, long long> ledger() {
    std::map<std::string, long long> entries;
    std::string after = "0";
    for (bool more = true; more;) {
      const std::string body =
          stage_.provider().get("/ledger?limit=" + std::to_string(page) + "&after=" + after).body;
      for (int i = 0; i < page; ++i) {
        const std::string at = "/data/" + std::to_string(i);
        const auto key = json_at(body, at + "/idempotency_key");
        if (!key) break;
        entries[*key] += std::stoll(json_text(body, at + "/amount"));
        // Its own for each payment and refund, whatever the key that it came under.
        ++moved_[json_text(body, at + "/reference")];
      }
      more = json_text(body, "/has_more") == "true";
      after = json_text(body, "/next_after");
    }
    return entries;
  }

  void compare(const std::vector<PaymentOperation>& operations) {
    std::map<std::string, long long> entries = ledger();
    for (const auto& [key, amount] : entries) report_.ledger_sum += amount;
    for (const auto& [reference, times] : moved_) report_.charged_twice += times > 1;
    report_.our_sum = sum("payments") - sum("refunds");
    for (const PaymentOperation& operation : operations) judge(operation, entries);
    if (report_.ledger_sum != report_.our_sum) violation("the sums differ");
    if (report_.charged_twice > 0) violation("something is more than once in the ledger");
    if (report_.lost > 0) violation("something was answered as done, and is not in the ledger");
    for (const auto& [key, amount] : entries) violation("moved, and nobody asked for it: " + key);
  }

  // Takes from the ledger what the operation accounts for.
  void judge(const PaymentOperation& operation, std::map<std::string, long long>& entries) {
    ++(operation.refund ? report_.refunds : report_.payments);
    report_.async += operation.async;
    const char* phase = operation.refund ? "refund" : "charge";
    const auto entry = entries.find(derive_key({"default", operation.key}, phase));
    const bool moved = entry != entries.end();
    const long long expected = operation.refund ? -operation.amount : operation.amount;
    if (operation.status == 201 && !moved) ++report_.lost;
    if (operation.status == 402 || operation.status == 202) {
      const bool declined =
          stage_.link().query("SELECT status FROM " +
                              std::string(operation.refund ? "refunds" : "payments") +
                              " WHERE provider_key = '" +
                              derive_key({"default", operation.key}, phase) + "'") == "declined";
      report_.declined += declined;
      if (operation.status == 202 && !declined && !moved) ++report_.lost;
      if (declined && moved) violation(operation.key + ": declined, and charged");
    }
    if (operation.status == 400 && moved) violation(operation.key + ": refused, and moved");
    if (operation.status == 0) violation(operation.key + ": never answered");
    if (!moved) return;
    if (entry->second != expected) violation(operation.key + ": another amount was moved");
    entries.erase(entry);
  }

  long long sum(const std::string& table) {
    return std::stoll(stage_.link().query("SELECT coalesce(sum(amount), 0) FROM " + table +
                                          " WHERE status = 'succeeded'"));
  }

  void violation(std::string what) {
    constexpr std::size_t listed_max = 20;
    if (report_.violations.size() < listed_max) report_.violations.push_back(std::move(what));
  }

  PaymentsCampaignOptions options_;
  std::unique_ptr<PostgresServer> server_;
  PaymentsStage stage_;
  PaymentsCampaignReport report_;
  std::map<std::string, int> moved_;  // entries of the ledger by reference
};

}  // namespace

std::string PaymentsCampaignReport::text() const {
  char text[1000];
  std::snprintf(text, sizeof text,
                "payments campaign on %s, seed %llu, %.0f s\n"
                "  operations  %zu payments, %zu refunds; %zu of them async, %zu declined\n"
                "  requests    %zu, of which %zu had no answer and %zu were replays\n"
                "  kills       %zu of the service, %zu of the worker, %zu of the provider\n"
                "  ledger      %lld, ours %lld\n"
                "  lost %zu, double %zu, violations %zu\n",
                options.database.c_str(), static_cast<unsigned long long>(options.seed), seconds,
                payments, refunds, async, declined, requests, connections_lost, replays,
                service_kills, worker_kills, provider_kills, ledger_sum, our_sum, lost,
                charged_twice, violations.size());
  std::string all = text;
  for (const std::string& violation : violations) all += "  " + violation + "\n";
  return all;
}

PaymentsCampaignReport run_payments_campaign(const PaymentsCampaignOptions& options) {
  return Campaign(options).run();
}

}  // namespace oncekey::test
