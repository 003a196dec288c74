#include "payments/stage.h"

#include <signal.h>

#include <chrono>
#include <stdexcept>

#include "store/postgres_schema.h"
#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/server_port.h"
#include "support/shared_servers.h"

namespace oncekey::test {
namespace {

void fill(const std::string& url) {
  const auto migrated =
      store::migrate(url, std::chrono::steady_clock::now() + std::chrono::seconds(30));
  if (!migrated) throw std::runtime_error(migrated.error().message);
}

std::string fresh_postgres() {
  const std::string prepared =
      shared_postgres().prepared_database("payments_" + store::schema_checksum(), fill);
  return shared_postgres().fresh_database(prepared);
}

std::vector<std::string> with_crash(const std::string& crash_at, std::vector<std::string> words) {
  if (crash_at.empty()) return words;
  std::vector<std::string> all = {"/usr/bin/env", "ONCEKEY_CRASH_AT=" + crash_at};
  all.insert(all.end(), words.begin(), words.end());
  return all;
}

bool is_event(const std::string& line, const std::string& event) {
  return json_text(line, "/event") == event;
}

HttpRequest post(const std::string& target, const std::string& key, std::string body) {
  HttpRequest request{.target = target, .body = std::move(body)};
  request.with("Content-Type", "application/json").with("Idempotency-Key", key);
  return request;
}

std::string metadata(const std::string& fault) {
  return fault.empty() ? "{}" : "{\"fault\":\"" + fault + "\"}";
}

}  // namespace

PaymentsStage::PaymentsStage(PaymentsOptions options)
    : options_(std::move(options)), port_(server_port()) {
  if (options_.database == "sqlite") {
    url_ = "sqlite:" + (folder_.path() / "payments.db").string();
  } else {
    url_ = options_.postgres_url.empty() ? fresh_postgres() : options_.postgres_url;
    if (!options_.postgres_url.empty()) fill(url_);
  }
  link_ = Link::open(url_);
  std::vector<std::string> flags = {"--listen",
                                    "127.0.0.1:" + std::to_string(server_port()),
                                    "--webhook-url",
                                    "http://127.0.0.1:" + std::to_string(port_) + "/webhooks",
                                    "--webhook-secret",
                                    webhook_secret,
                                    "--webhook-backoff-ms",
                                    "20"};
  flags.insert(flags.end(), options_.provider_flags.begin(), options_.provider_flags.end());
  provider_ = std::make_unique<ProviderProcess>(flags);
  if (!start_service()) throw std::runtime_error("no service:\n" + service_->output());
}

bool PaymentsStage::start_service(const std::string& crash_at) {
  // A call may take three timeouts, and the lease covers it.
  std::vector<std::string> words = {PAYMENTS_PATH,
                                    "--listen",
                                    "127.0.0.1:" + std::to_string(port_),
                                    "--database",
                                    url_,
                                    "--provider",
                                    provider_->url(),
                                    "--webhook-secret",
                                    webhook_secret,
                                    "--call-timeout-ms",
                                    "1000",
                                    "--lease-ms",
                                    "3100",
                                    "--every-ms",
                                    "50",
                                    "--patience-ms",
                                    "300",
                                    "--connections",
                                    "2"};
  words.insert(words.end(), options_.service_flags.begin(), options_.service_flags.end());
  service_ = std::make_unique<Process>(with_crash(crash_at, words));
  return service_
      ->wait_for_line([](const std::string& line) { return is_event(line, "listening"); })
      .has_value();
}

void PaymentsStage::start_worker(const std::string& crash_at) {
  worker_ = std::make_unique<Process>(with_crash(
      crash_at,
      {oncekey_binary(), "worker", "--config", folder_.write("worker.toml", worker_config()),
       "--database", url_, "--admin", "127.0.0.1:0"}));
}

std::string PaymentsStage::worker_config() const {
  std::string toml = "[worker]\nlease = \"1s\"\npoll = \"20ms\"\n";
  for (const char* sink : {"charges", "refunds"}) {
    toml += std::string("[[sink]]\nname = \"") + sink + "\"\nurl = \"" + provider_->url() + "/" +
            sink + "\"\ntimeout = \"1s\"\nbackoff = \"50ms\"\nbackoff_max = \"200ms\"\n" +
            "decided_status = 402\n" + options_.sink_settings;
  }
  // The service again, as one who consumes the worker's messages.
  toml += "[[sink]]\nname = \"consumer\"\nurl = \"http://127.0.0.1:" + std::to_string(port_) +
          "/webhooks\"\nsecrets = [\"" + webhook_secret + "\"]\nbackoff = \"50ms\"\n";
  return toml;
}

void PaymentsStage::kill_service() {
  service_->signal(SIGKILL);
  service_->wait();
}

void PaymentsStage::kill_worker() {
  if (!worker_) return;
  worker_->signal(SIGKILL);
  worker_->wait();
}

HttpRequest PaymentsStage::payment(const std::string& key, int amount, const std::string& fault) {
  return post("/payments", key,
              "{\"amount\":" + std::to_string(amount) + ",\"currency\":\"EUR\",\"reference\":\"" +
                  key + "\",\"metadata\":" + metadata(fault) + "}");
}

HttpRequest PaymentsStage::refund(const std::string& payment, const std::string& key, int amount,
                                  const std::string& fault) {
  return post("/payments/" + payment + "/refund", key,
              "{\"amount\":" + std::to_string(amount) + ",\"metadata\":" + metadata(fault) + "}");
}

HttpResponse PaymentsStage::get(const std::string& target) const {
  return send(HttpRequest{.method = "GET", .target = target});
}

void PaymentsStage::end_leases() {
  link_->end_leases();
  link_->execute(link_->is_postgres()
                     ? "UPDATE oncekey.outbox SET lease_until = '-infinity'"
                     : "UPDATE oncekey_outbox SET due_at = 0 WHERE state = 1 AND claim <> 0");
}

int PaymentsStage::count(const std::string& what) {
  return std::stoi(link_->query("SELECT count(*) FROM " + what));
}

std::string PaymentsStage::own(const std::string& table) const {
  return (link_->is_postgres() ? "oncekey." : "oncekey_") + table;
}

std::string PaymentsStage::unfinished() {
  const bool postgres = link_->is_postgres();
  const std::string open_states = postgres ? "('in_progress', 'unknown')" : "(1, 4)";
  const std::pair<const char*, std::string> places[] = {
      {"records", own("records") + " WHERE state IN " + open_states},
      {"workflows", own("workflows")},
      {"messages", own("outbox") + " WHERE state <> " + (postgres ? "2" : "3")},
      {"payments", "payments WHERE status = 'pending'"},
      {"refunds", "refunds WHERE status = 'pending'"}};
  std::string found;
  for (const auto& [name, rows] : places) {
    const int number = count(rows);
    if (number > 0) found += std::to_string(number) + " " + name + " ";
  }
  return found;
}

}  // namespace oncekey::test
