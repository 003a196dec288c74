#include "gateway/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <mutex>
#include <unordered_map>

#include "gateway/metric_text.h"
#include "gateway/role_trouble.h"

namespace oncekey::gateway {

namespace {

const prometheus::Histogram::BucketBoundaries& seconds_buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {
      0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
      0.1,    0.25,    0.5,    1,     2.5,    5,     10,   30};
  return buckets;
}

constexpr std::array<std::string_view, reserve_result_count> reserve_names = {
    "created", "failed_retry", "replay",  "in_progress",
    "misuse",  "unknown",      "expired", "unavailable"};
constexpr std::array<std::string_view, 6> status_names = {"other", "1xx", "2xx",
                                                          "3xx",   "4xx", "5xx"};

prometheus::Counter& counter(prometheus::Registry& registry, const std::string& name,
                             const std::string& help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const std::string& name,
                                 const std::string& help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(
      {}, seconds_buckets());
}

}  // namespace

struct Metrics::Tenants {
  explicit Tenants(prometheus::Family<prometheus::Counter>& counters) : family(counters) {}

  void count(const std::string& tenant) {
    std::lock_guard lock(mutex);
    auto found = known.find(tenant);
    if (found == known.end()) {
      const std::string label = known.size() < tenants_max ? tenant : "other";
      if (label == "other" && tenant != "other") {
        family.Add({{"tenant", "other"}}).Increment();
        return;
      }
      found = known.emplace(tenant, &family.Add({{"tenant", label}})).first;
    }
    found->second->Increment();
  }

  prometheus::Family<prometheus::Counter>& family;
  std::mutex mutex;
  std::unordered_map<std::string, prometheus::Counter*> known;
};

Metrics::Metrics() : registry_(std::make_shared<prometheus::Registry>()) {
  auto& requests = prometheus::BuildCounter()
                       .Name("oncekey_requests_total")
                       .Help("Requests by what the gateway did with them")
                       .Register(*registry_);
  auto& seconds = prometheus::BuildHistogram()
                      .Name("oncekey_request_seconds")
                      .Help("From the request's head to its answer")
                      .Register(*registry_);
  for (int i = 0; i < decision_count; ++i) {
    std::string name(to_string(static_cast<Decision>(i)));
    requests_[i] = &requests.Add({{"decision", name}});
    request_seconds_[i] = &seconds.Add({{"decision", name}}, seconds_buckets());
  }
  auto& statuses = prometheus::BuildCounter()
                       .Name("oncekey_responses_total")
                       .Help("Answers by class of status")
                       .Register(*registry_);
  for (std::size_t i = 0; i < statuses_.size(); ++i) {
    statuses_[i] = &statuses.Add({{"status", std::string(status_names[i])}});
  }
  auto& reserves = prometheus::BuildCounter()
                       .Name("oncekey_reserve_total")
                       .Help("Reservations by outcome; misuse is a key sent with another request")
                       .Register(*registry_);
  for (int i = 0; i < reserve_result_count; ++i) {
    reserves_[i] = &reserves.Add({{"outcome", std::string(reserve_names[i])}});
  }
  auto& settles = prometheus::BuildCounter()
                      .Name("oncekey_settle_total")
                      .Help("Settlements by outcome")
                      .Register(*registry_);
  settled_completed_ = &settles.Add({{"outcome", "completed"}});
  settled_failed_ = &settles.Add({{"outcome", "failed_retryable"}});
  settled_unknown_ = &settles.Add({{"outcome", "unknown"}});
  reserve_seconds_ = &histogram(*registry_, "oncekey_store_reserve_seconds",
                                "From handing a reservation to the store to its durable outcome");
  settle_seconds_ = &histogram(*registry_, "oncekey_store_settle_seconds",
                               "From handing a settlement to the store to its durable outcome");
  upstream_seconds_ = &histogram(*registry_, "oncekey_upstream_seconds",
                                 "From dispatch to the upstream's whole answer, or its silence");
  stale_settles_ = &counter(*registry_, "oncekey_stale_settles_total",
                            "Settlements refused because the record was no longer the attempt's");
  store_errors_ = &counter(*registry_, "oncekey_store_errors_total",
                           "Store operations that failed or took too long");
  clients_gone_ = &counter(*registry_, "oncekey_clients_gone_total",
                           "Answers that could not be delivered because the client had left");
  orphans_ = &counter(*registry_, "oncekey_orphans_total",
                      "Records found in progress at start, left by a run that died; now unknown");
  swept_ = &counter(*registry_, "oncekey_zombies_total",
                    "Records whose lease ran out while in progress; now unknown");
  reaped_ = &counter(*registry_, "oncekey_reaped_total", "Records removed after their retention");
  auto& failures = prometheus::BuildCounter()
                       .Name("oncekey_role_failures_total")
                       .Help(role_failures_help)
                       .Register(*registry_);
  sweeps_failed_ = &failures.Add({{"role", "sweeper"}});
  reaps_failed_ = &failures.Add({{"role", "reaper"}});
  auto& reconciles = prometheus::BuildCounter()
                         .Name("oncekey_reconcile_total")
                         .Help("Unknown records that were asked about, by what came of it")
                         .Register(*registry_);
  reconciled_completed_ = &reconciles.Add({{"outcome", "completed"}});
  reconciled_failed_ = &reconciles.Add({{"outcome", "failed_retryable"}});
  reconcile_put_off_ = &reconciles.Add({{"outcome", "scheduled"}});
  reconcile_given_up_ = &reconciles.Add({{"outcome", "operator"}});
  reconcile_errors_ = &reconciles.Add({{"outcome", "store_error"}});
  personal_data_keys_ =
      &counter(*registry_, "oncekey_personal_data_keys_total", "Keys that look like personal data");
  cache_replays_ =
      &counter(*registry_, "oncekey_cache_replays_total", "Replays that were served from memory");
  fail_opens_ = &counter(*registry_, "oncekey_fail_open_total",
                         "Requests executed without a record because the store was unavailable");
  duplicates_ = std::make_unique<Tenants>(prometheus::BuildCounter()
                                              .Name("oncekey_duplicates_total")
                                              .Help("Retries of a known key, by tenant")
                                              .Register(*registry_));
  misuses_ = std::make_unique<Tenants>(prometheus::BuildCounter()
                                           .Name("oncekey_misuse_total")
                                           .Help("Keys sent again with another request, by tenant")
                                           .Register(*registry_));
}

Metrics::~Metrics() = default;

void Metrics::request(Decision decision, int status, double seconds) {
  auto index = static_cast<std::size_t>(decision);
  requests_[index]->Increment();
  request_seconds_[index]->Observe(seconds);
  std::size_t status_class =
      status >= 100 && status < 600 ? static_cast<std::size_t>(status / 100) : 0;
  statuses_[status_class]->Increment();
}

void Metrics::reserve(ReserveResult result, double seconds) {
  reserves_[static_cast<std::size_t>(result)]->Increment();
  reserve_seconds_->Observe(seconds);
}

void Metrics::settle(std::string_view outcome, double seconds) {
  prometheus::Counter* counter = outcome == "completed"          ? settled_completed_
                                 : outcome == "failed_retryable" ? settled_failed_
                                                                 : settled_unknown_;
  counter->Increment();
  settle_seconds_->Observe(seconds);
}

void Metrics::upstream(double seconds) {
  upstream_seconds_->Observe(seconds);
}
void Metrics::duplicate(const std::string& tenant) {
  duplicates_->count(tenant);
}
void Metrics::misuse(const std::string& tenant) {
  misuses_->count(tenant);
}
void Metrics::stale_settle() {
  stale_settles_->Increment();
}
void Metrics::store_error() {
  store_errors_->Increment();
}

double Metrics::store_errors() const {
  return store_errors_->Value();
}

void Metrics::result_refused() {
  ++results_refused_;
  store_error();
}

void Metrics::client_gone() {
  clients_gone_->Increment();
}
void Metrics::orphans(std::size_t count) {
  orphans_->Increment(static_cast<double>(count));
}
void Metrics::swept(std::size_t count) {
  swept_->Increment(static_cast<double>(count));
}
void Metrics::reaped(std::size_t count) {
  reaped_->Increment(static_cast<double>(count));
}
void Metrics::sweep_failed() {
  sweeps_failed_->Increment();
}
void Metrics::reap_failed() {
  reaps_failed_->Increment();
}
void Metrics::reconciled(const recovery::ReconcileCounts& counts) {
  const auto add = [](prometheus::Counter* counter, std::size_t count) {
    if (count > 0) counter->Increment(static_cast<double>(count));
  };
  add(reconciled_completed_, counts.completed);
  add(reconciled_failed_, counts.failed_retryable);
  add(reconcile_put_off_, counts.still_unknown - counts.to_operator);
  add(reconcile_given_up_, counts.to_operator);
  add(reconcile_errors_, counts.errors);
}
void Metrics::personal_data_key() {
  personal_data_keys_->Increment();
}
void Metrics::cache_replay() {
  cache_replays_->Increment();
}

void Metrics::fail_open() {
  fail_opens_->Increment();
}

std::string Metrics::text(const StoreFigures& store, const http::ServerStats& server) const {
  const store::CommitterStats& committer = store.committer;
  const EngineStats& engine = store.engine;
  std::string out = prometheus::TextSerializer().Serialize(registry_->Collect());
  auto total = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    append_figure(out, name, "counter", help, value);
  };
  auto gauge = [&](std::string_view name, std::string_view help, std::uint64_t value) {
    append_figure(out, name, "gauge", help, value);
  };
  total("oncekey_store_batches_total", "Batches the store has applied", committer.batches);
  total("oncekey_store_operations_total", "Operations in those batches", committer.operations);
  total("oncekey_store_syncs_total", "How often the log was forced to disk", engine.syncs);
  total("oncekey_store_statements_total", "Statements sent to the store's server",
        engine.statements);
  total("oncekey_store_cache_hits_total",
        "Replays that the cache before the store answered (postgres://…+redis://…)",
        engine.cache_hits);
  total("oncekey_store_cache_failures_total", "Batches that this cache did not answer",
        engine.cache_failures);
  if (store.cache) {
    gauge("oncekey_store_cache_down",
          "1: this cache does not answer, or keeps nothing; the store answers in its place",
          store.cache->trouble.empty() ? 0 : 1);
    total("oncekey_store_cache_refused_total",
          "Entries of this cache that no gateway of this deployment has put there as they are",
          store.cache->refused);
  }
  total("oncekey_store_refused_total",
        "Operations refused without asking the store: it was down, or too many waited",
        committer.refused);
  if (store.breaker) {
    gauge("oncekey_store_breaker_state",
          "0: closed, the store is used; 1: half-open, it is being tried; 2: open, it is down",
          static_cast<std::uint64_t>(store.breaker->state));
    gauge("oncekey_store_refuses_writes", "1: the store can be read, and refuses what is new",
          store.refuses_writes ? 1 : 0);
    total("oncekey_store_breaker_opens_total", "How often the store was found to be down",
          store.breaker->opens);
  }
  gauge("oncekey_store_at_risk",
        "1: the store may lose what it has acknowledged; /readyz says when", store.at_risk ? 1 : 0);
  if (store.operator_queue) {
    gauge("oncekey_reconcile_operator_queue",
          "Unknown records that probing has given up on: an operator has to decide",
          *store.operator_queue);
  }
  gauge("oncekey_store_queue_depth", "Operations waiting for the next batch",
        committer.queue_depth);
  if (engine.counted) {  // 0 of something must not mean that nobody could count
    gauge("oncekey_records_in_progress", "Records being worked on", engine.in_progress);
    gauge("oncekey_records_failed_retryable", "Records whose next retry runs",
          engine.failed_retryable);
    gauge("oncekey_records_unknown", "Records whose outcome must be determined", engine.unknown);
    gauge("oncekey_records_settled", "Completed records, as far as the store can tell cheaply",
          engine.settled_estimate);
  }
  if (engine.counted && engine.dead_rows) {
    gauge("oncekey_store_dead_rows",
          "Rows of settled and reaped records whose room autovacuum has yet to give back",
          *engine.dead_rows);
  }
  gauge("oncekey_connections_open", "Client connections", server.connections_open);
  gauge("oncekey_exchanges_running", "Requests being worked on", server.exchanges_running);
  total("oncekey_connections_accepted_total", "Client connections accepted",
        server.connections_accepted);
  total("oncekey_connections_refused_total", "Client connections over the limit",
        server.connections_refused);
  total("oncekey_requests_refused_total", "Requests refused for their framing, size or slowness",
        server.requests_refused);
  total("oncekey_tls_handshakes_failed_total", "Clients whose TLS handshake did not succeed",
        server.handshakes_failed);
  return out;
}

}  // namespace oncekey::gateway
