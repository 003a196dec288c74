// The payment service of examples/payments with all that it works with: its database, the simulated
// provider, and the worker that delivers its outbox. Each can be killed and comes back.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/http_client.h"
#include "support/process.h"
#include "support/provider_process.h"
#include "support/temporary_folder.h"
#include "workflow/link.h"

namespace oncekey::test {

struct PaymentsOptions {
  std::string database = "sqlite";  // or "postgres"
  std::string postgres_url;         // "": a fresh database of the shared server
  std::vector<std::string> provider_flags = {};
  std::vector<std::string> service_flags = {};
  std::string sink_settings = {};  // more lines for each sink
};

class PaymentsStage {
 public:
  // Provider and service run; the worker does not.
  explicit PaymentsStage(PaymentsOptions options);

  // `crash_at`: ONCEKEY_CRASH_AT, "": it lives. False: it died before it was ready.
  bool start_service(const std::string& crash_at = "");
  void start_worker(const std::string& crash_at = "");
  void kill_service();
  void kill_worker();
  Process& service() { return *service_; }
  Process& worker() { return *worker_; }
  ProviderProcess& provider() { return *provider_; }

  std::uint16_t port() const { return port_; }
  const std::string& database_url() const { return url_; }
  Link& link() { return *link_; }

  static HttpRequest payment(const std::string& key, int amount, const std::string& fault = "");
  static HttpRequest refund(const std::string& payment, const std::string& key, int amount,
                            const std::string& fault = "");
  HttpResponse send(const HttpRequest& request, Milliseconds timeout = patience) const {
    return exchange(port_, request, timeout);
  }
  HttpResponse get(const std::string& target) const;

  // As if time had passed: what dead processes hold is free.
  void end_leases();
  int count(const std::string& what);               // rows FROM what
  std::string own(const std::string& table) const;  // oncekey.x or oncekey_x
  // What has not come to its end yet, in words; "": nothing.
  std::string unfinished();

 private:
  std::string worker_config() const;

  PaymentsOptions options_;
  TemporaryFolder folder_;
  std::uint16_t port_;
  std::string url_;
  std::unique_ptr<Link> link_;
  std::unique_ptr<ProviderProcess> provider_;
  std::unique_ptr<Process> service_;
  std::unique_ptr<Process> worker_;
};

inline constexpr const char* webhook_secret = "whsec_b25jZWtleS1wYXltZW50cy10ZXN0LXNlY3JldC0zMg==";

}  // namespace oncekey::test
