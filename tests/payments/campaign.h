// Many clients pay and refund, twice and at once, while the provider fails at random and service,
// worker and provider are killed at random. Afterwards all is left to heal, and the provider's
// ledger must agree with what clients were told and with the service's own rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oncekey::test {

struct PaymentsCampaignOptions {
  std::size_t count = 50'000;  // payments; refunds come on top
  std::uint64_t seed = 1;
  std::string database = "sqlite";  // or "postgres"
  int clients = 12;
  std::size_t payments_per_kill = 100;  // on average
  bool progress = false;
};

struct PaymentsCampaignReport {
  PaymentsCampaignOptions options;
  std::size_t payments = 0;
  std::size_t refunds = 0;
  std::size_t async = 0;             // of both
  std::size_t declined = 0;          // payments
  std::size_t requests = 0;          // duplicates and retries included
  std::size_t connections_lost = 0;  // no complete answer
  std::size_t replays = 0;
  std::size_t service_kills = 0;
  std::size_t worker_kills = 0;
  std::size_t provider_kills = 0;
  long long ledger_sum = 0;  // the provider's
  long long our_sum = 0;     // of our completed payments, less refunds
  std::size_t charged_twice = 0;
  std::size_t lost = 0;  // answered as done, and not in the ledger
  std::vector<std::string> violations;
  double seconds = 0;

  std::size_t kills() const { return service_kills + worker_kills + provider_kills; }
  std::string text() const;
};

PaymentsCampaignReport run_payments_campaign(const PaymentsCampaignOptions& options);

}  // namespace oncekey::test
