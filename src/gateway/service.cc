#include "gateway/service.h"

#include <unistd.h>

#include <algorithm>
#include <latch>
#include <limits>
#include <stdexcept>

#include "gateway/config_changes.h"
#include "gateway/encryption.h"
#include "gateway/scheduling.h"
#include "gateway/span_exporter.h"
#include "gateway/trace.h"

namespace oncekey::gateway {

namespace {

constexpr std::uint32_t threads_default_max = 4;
constexpr std::size_t sweep_batch = 1000;
constexpr std::size_t reap_batch = 200;
constexpr int reap_rest = 5;  // a sixth of the time is enough for expiry
constexpr auto sweep_every = std::chrono::milliseconds(500);
constexpr auto reap_every = std::chrono::seconds(5);
constexpr std::size_t reconcile_batch = 100;
// After the grace time: how long the store may take to record the cut-off requests.
constexpr auto cut_off_limit = std::chrono::seconds(5);
constexpr auto close_limit = std::chrono::seconds(1);
constexpr auto late_request_limit = std::chrono::seconds(1);
constexpr DurationMs batch_timeout_min_ms = 100;
constexpr DurationMs batch_timeout_max_ms = 2'000;

// An embedded store works in a thread of ours, which needs a core; a shared one works elsewhere.
std::uint32_t thread_count(const Config& config, const EngineInfo& engine) {
  if (config.threads > 0) return config.threads;
  const unsigned cores = std::thread::hardware_concurrency();
  return std::clamp(engine.shared ? cores : cores / 2, 1u, threads_default_max);
}

// Host and process for people, a random part so that no two runs are ever taken for one.
std::string owner_name() {
  char host[256] = "";
  ::gethostname(host, sizeof host - 1);
  return std::string(host) + "/" + std::to_string(::getpid()) + "/" + random_uuid().substr(0, 8);
}

std::vector<Engine*> lanes_of(const store::Store& store) {
  std::vector<Engine*> lanes;
  for (const auto& engine : store.lanes) lanes.push_back(engine.get());
  return lanes;
}

std::size_t handover_max(const EngineInfo& engine) {
  constexpr std::size_t few = 16;
  return engine.cheap_batches ? few : std::numeric_limits<std::size_t>::max();
}

}  // namespace

DurationMs batch_timeout_ms(const Config& config) {
  return std::clamp(config.timeouts.store_ms * 2 / 5, batch_timeout_min_ms, batch_timeout_max_ms);
}

// One I/O thread with everything it uses.
struct Service::Worker {
  Worker(Service& service, std::size_t index, const http::ServerOptions& options)
      : gate(loop, *service.committer_, handover_max(service.engine_info())),
        requests(loop, service.log_),
        gateway(service.generations_, index),
        connections(loop, gateway, options, service.stats_) {}

  LoopParts parts() { return {loop, gate, requests}; }

  http::Loop loop;
  CommitGate gate;
  RequestLog requests;
  Gateway gateway;
  http::ConnectionSet connections;
  std::thread thread;
};

Service::Service(const Config& config, std::string secret, store::Store store, Log& log)
    : secret_(std::move(secret)),
      log_(log),
      fingerprinter_(secret_),
      owner_(owner_name()),
      cache_(config.replay_cache_bytes, config.replay_trust_ms),
      store_(std::move(store)) {
  auto first = std::make_unique<Generation>(config, parts(), nullptr);
  if (store_.cache) {
    store_.cache->report_to(
        {[this](std::string_view trouble) { report_cache(trouble); },
         [this](const RecordId& id, std::uint64_t refused) { report_refused_entry(id, refused); }});
  }
  store::CommitterOptions options;
  if (engine_info().shared) {
    store::BreakerOptions limits;
    limits.timeout_ms = batch_timeout_ms(config);
    breaker_ = std::make_unique<store::Breaker>(
        limits, [this](const store::Breaker::Change& change) { report_breaker(change); });
    options.breaker = breaker_.get();
    options.writes = &writes_;
  }
  committer_ = std::make_unique<store::Committer>(lanes_of(store_), wall_now_ms, options);
  if (store_.background) {
    background_ = std::make_unique<store::Committer>(*store_.background, wall_now_ms, options);
  }
  for (std::uint32_t i = 0; i < thread_count(config, engine_info()); ++i) {
    workers_.push_back(std::make_unique<Worker>(*this, i, first->server_options()));
    first->add_loop(workers_[i]->parts());
  }
  generations_.put_in_force(std::move(first));
  auto addresses = http::resolve(config.listen);
  if (!addresses) throw std::runtime_error("listen: " + addresses.error());
  listener_ = std::make_unique<http::Listener>(workers_[0]->loop, addresses->front(), stats_,
                                               current().server_options());
  if (!config.webhook.listen.empty()) {
    webhooks_ = std::make_unique<WebhookPort>(config, background(), log_);
  }
}

ServiceParts Service::parts() {
  return {secret_,  fingerprinter_, owner_,    log_,       metrics_,   cache_,
          signals_, pauses_,        new_keys_, live_keys_, held_keys_, stats_.exchanges_running};
}

Service::~Service() {
  stop_roles();
  for (auto& worker : workers_) {
    if (!worker->thread.joinable()) continue;
    worker->loop.stop();
    worker->thread.join();
  }
  committer_.reset();  // delivers to the workers' gates, so before them
}

void Service::start() {
  report_orphans();
  std::vector<http::ConnectionSet*> sets;
  std::vector<http::Loop*> loops;
  for (auto& worker : workers_) {
    sets.push_back(&worker->connections);
    loops.push_back(&worker->loop);
  }
  listener_->serve(sets, loops);
  for (auto& worker : workers_) {
    worker->thread = std::thread([&loop = worker->loop, shared = engine_info().shared] {
      if (shared) take_turns();
      loop.run();
    });
  }
  start_roles();
}

void Service::report_breaker(const store::Breaker::Change& change) {
  if (change.state == store::Breaker::State::closed) {
    log_.event(LogLevel::info, "store_back", {{"reason", change.reason}});
  } else {
    log_.event(LogLevel::error, "store_down",
               {{"reason", change.reason}, {"next_try_ms", change.pause_ms}});
  }
}

std::string Service::store_down() const {
  if (!breaker_) return {};
  store::Breaker::Snapshot snapshot = breaker_->snapshot();
  if (snapshot.state == store::Breaker::State::closed) return {};
  return "the store is down: " + snapshot.reason;
}

void Service::report_orphans() {
  std::vector<RecordId> orphans = store_.lanes[0]->take_orphans();
  metrics_.orphans(orphans.size());
  for (const RecordId& id : orphans) {
    log_.event(LogLevel::warn, "orphan",
               {{"key", std::string_view(id.key)},
                {"tenant", std::string_view(id.scope)},
                {"state", std::string_view("unknown")},
                {"reason", std::string_view("in progress when an earlier run ended")}});
  }
}

void Service::start_roles() {
  // The store may have been away until now, and other nodes' results with it.
  if (breaker_) results_first_.outage(std::chrono::steady_clock::now());
  certificates_ = std::make_unique<CertificateWatch>(generations_, log_);
  sweeper_ = std::make_unique<recovery::Role>(sweep_every, [this] { return sweep(); });
  auto reap = [this] {
    auto reaped = recovery::reap_once(background(), reap_batch);
    if (!reaped) {
      metrics_.reap_failed();
      if (!breaker_ || breaker_->closed()) reaper_trouble_.failed(reaped.error());
      return false;
    }
    reaper_trouble_.worked();
    metrics_.reaped(*reaped);
    return *reaped == reap_batch;
  };
  reaper_ = std::make_unique<recovery::Role>(reap_every, reap, reap_rest);
  live_key_counter_ =
      std::make_unique<LiveKeyCounter>(live_keys_, background(), http::steady_now_ms);
  follow_probes();
}

void Service::follow_probes() {
  const RouteProbes& probes = current().probes();
  if (reconciling_) {
    reconciling_->set_every(probes.look_every());
  } else if (probes.any()) {
    start_reconciler();
  }
}

void Service::start_reconciler() {
  std::lock_guard lock(roles_mutex_);
  prober_ = std::make_unique<recovery::Prober>();
  const auto report = [this](const recovery::Reconciled& reconciled) {
    log_.reconciled(reconciled);
  };
  reconciler_ = std::make_unique<recovery::Reconciler>(recovery::Reconciler::Parts{
      background(), *prober_,
      [this](const Record& record) { return current().probes().of(record); }, report});
  reconciling_ = std::make_unique<recovery::Role>(current().probes().look_every(), [this] {
    if (breaker_ && !breaker_->closed()) return false;
    const recovery::ReconcileCounts counts = reconciler_->run_once(reconcile_batch);
    metrics_.reconciled(counts);
    return counts.more;
  });
}

void Service::stop_roles() {
  {
    std::unique_ptr<WebhookPort> webhooks;  // ends without the lock: it waits for its own thread
    std::lock_guard lock(roles_mutex_);
    webhooks = std::move(webhooks_);
  }
  if (prober_) prober_->stop();  // or the role would wait for an upstream that does not answer
  certificates_.reset();
  sweeper_.reset();
  reaper_.reset();
  live_key_counter_.reset();
  reconciling_.reset();
}

// A reservation whose fate its lane does not know is withdrawn when that lane works again, for
// which it needs a reason, should no request come.
void Service::take_back_what_is_in_doubt() {
  const double errors = metrics_.store_errors();
  if (errors == errors_followed_up_ && in_doubt() == 0) return;
  if (recovery::time_to_answer(*committer_)) errors_followed_up_ = errors;
}

bool Service::must_wait_for_results(bool was_down) {
  const auto now = std::chrono::steady_clock::now();
  if (breaker_) {
    const std::uint64_t opens = breaker_->snapshot().opens;
    const bool was_away = std::exchange(outages_seen_, opens) != opens || was_down;
    if (was_away) results_first_.outage(now);
    if (!store_refusal().empty()) results_first_.refused(now);
  } else {
    // Only this process has results, and each try that fails is counted.
    const std::uint64_t refused = metrics_.results_refused();
    if (std::exchange(refused_waited_for_, refused) != refused) results_first_.refused(now);
  }
  const bool answers = !sweep_failed_ && (!breaker_ || breaker_->closed());
  if (answers && results_first_.must_rehearse()) {
    const auto rehearsed = recovery::rehearse_sweep(background());
    if (rehearsed) {
      results_first_.rehearsed(std::chrono::steady_clock::now());
    } else {
      sweep_failed(rehearsed.error());
    }
  }
  return results_first_.waiting(std::chrono::steady_clock::now());
}

void Service::sweep_failed(const std::string& reason) {
  sweep_failed_ = true;
  results_first_.sweep_failed(std::chrono::steady_clock::now());
  metrics_.sweep_failed();
  if (!breaker_ || breaker_->closed()) sweeper_trouble_.failed(reason);
}

// Also of other nodes' leases, where the store is shared.
bool Service::sweep() {
  const bool was_down = breaker_ && (!breaker_->closed() || sweep_failed_);
  // Without requests nobody else would find out that the store is away, or back: a sweep that fails
  // may have reasons of its own.
  if (was_down) sweep_failed_ = !recovery::time_to_answer(background());
  take_back_what_is_in_doubt();
  if (must_wait_for_results(was_down)) return false;
  auto swept = recovery::sweep_once(background(), sweep_batch);
  if (!swept) {
    sweep_failed(swept.error());
    return false;
  }
  sweeper_trouble_.worked();
  metrics_.swept(swept->size());
  for (const RecordId& id : *swept) {
    log_.event(LogLevel::warn, "lease_over",
               {{"key", std::string_view(id.key)},
                {"tenant", std::string_view(id.scope)},
                {"state", std::string_view("unknown")}});
  }
  return swept->size() == sweep_batch;
}

template <class Work>
void Service::post_to_all(Work work) {
  for (auto& worker : workers_) {
    worker->loop.post([work, raw = worker.get()] { work(*raw); });
  }
}

template <class Work>
void Service::for_all_pools(Work work) {
  for (const auto& generation : generations_.all()) {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i]->loop.post([work, pool = &generation->pool(i)] { work(*pool); });
    }
  }
}

bool Service::wait_until(SteadyTime until, const std::function<bool()>& is_so) {
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::uint64_t Service::in_doubt() const {
  std::uint64_t count = 0;
  for (const auto& lane : store_.lanes) count += lane->counts().in_doubt;
  return count;
}

bool Service::nothing_runs() const {
  return stats_.exchanges_running == 0 &&
         std::all_of(workers_.begin(), workers_.end(),
                     [](const auto& worker) { return worker->gate.giving_back() == 0; });
}

ReloadOutcome Service::reload(const Config& config) {
  std::lock_guard lock(reload_mutex_);
  if (draining_) return std::string("the gateway is shutting down");
  const Generation& before = current();
  const ConfigChanges changes = compare(before.config(), config, engine_info().shared);
  if (!changes.needs_restart.empty()) return restart_needed(changes);
  auto encryption = encryption_keys(config);
  if (!encryption) return encryption.error();
  try {
    auto next = std::make_unique<Generation>(config, parts(), &before);
    for (auto& worker : workers_) next->add_loop(worker->parts());
    generations_.put_in_force(std::move(next));
  } catch (const std::runtime_error& error) {
    return std::string(error.what());
  }
  log_.set_level(config.log_level);
  if (store_.keyring) store_.keyring->replace(*encryption);
  use_on_loops(current(), before);
  before.give_way_to(current());
  follow_probes();
  return ReloadReport{changes.changed};
}

// Returns when every loop has done it: whoever asked for the reload sees it whole.
void Service::use_on_loops(const Generation& now, const Generation& before) {
  std::latch done(static_cast<std::ptrdiff_t>(workers_.size()));
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    workers_[i]->loop.post([&, i] {
      workers_[i]->connections.use(now.server_options());
      if (i == 0) listener_->use(now.server_options());
      if (&now.pool(i) != &before.pool(i)) before.pool(i).retire();
      done.count_down();
    });
  }
  done.wait();
}

bool Service::loops_answer_within(std::chrono::milliseconds limit) {
  // Kept by the posted work: a loop that comes too late must find it still.
  auto waiting = std::make_shared<std::atomic<std::uint64_t>>(workers_.size());
  post_to_all([waiting](Worker&) { waiting->fetch_sub(1); });
  return wait_until(std::chrono::steady_clock::now() + limit, [&] { return *waiting == 0; });
}

// True: nothing is going on any more, and connections that do not end by themselves may be cut.
bool Service::wait_for_the_last_request(SteadyTime until) {
  const auto are_closed = [&] { return stats_.connections_open == 0; };
  // The sweeper takes back what is in doubt, as soon as the store answers.
  const auto is_idle = [&] { return nothing_runs() && in_doubt() == 0; };
  while (wait_until(until, is_idle)) {
    // A request whose head was on its way when the shutdown began may still come.
    const auto closed = std::chrono::steady_clock::now() + late_request_limit;
    wait_until(closed, [&] { return are_closed() || !is_idle(); });
    if (is_idle()) return true;
  }
  return false;
}

bool Service::cut_off() {
  for_all_pools([](http::UpstreamPool& pool) { pool.cancel_active(); });
  return wait_until(std::chrono::steady_clock::now() + cut_off_limit,
                    [&] { return nothing_runs(); });
}

DrainCounts Service::drain(DurationMs grace_ms) {
  {
    std::lock_guard lock(reload_mutex_);
    draining_ = true;
  }
  DrainCounts counts;
  std::uint64_t running = stats_.exchanges_running;
  workers_[0]->loop.post([this] { listener_->close(); });
  post_to_all([](Worker& worker) { worker.connections.drain(); });
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(grace_ms);
  if (!wait_for_the_last_request(until)) {
    counts.unknown = stats_.exchanges_running;
    counts.clean = cut_off();
    counts.in_doubt = in_doubt();
  }
  counts.finished = running > counts.unknown ? running - counts.unknown : 0;
  const auto are_closed = [this] { return stats_.connections_open == 0; };
  if (!wait_until(std::chrono::steady_clock::now() + close_limit, are_closed)) {
    post_to_all([](Worker& worker) { worker.connections.abort(); });
    const bool closed = wait_until(std::chrono::steady_clock::now() + close_limit, are_closed);
    counts.clean = counts.clean && closed && (nothing_runs() || cut_off());
  }
  stop_roles();
  for_all_pools([](http::UpstreamPool& pool) { pool.close_idle(); });
  for (auto& worker : workers_) {
    worker->loop.stop();
    worker->thread.join();
    worker->requests.flush();
  }
  return counts;
}

std::string Service::metrics_text() {
  StoreFigures figures;
  figures.committer = committer_->stats();
  // Figures are wanted most while the store is down, and must not wait for it.
  if (store_down().empty()) {
    last_stats_ = store_.lanes[0]->stats();
  } else {
    last_stats_.counted = false;
  }
  figures.engine = last_stats_;
  EngineCounts sum;
  const auto add = [&sum](const Engine& engine) {
    const EngineCounts counts = engine.counts();
    sum.syncs += counts.syncs;
    sum.statements += counts.statements;
  };
  for (const auto& lane : store_.lanes) add(*lane);
  if (store_.background) add(*store_.background);
  figures.engine.syncs = sum.syncs;
  figures.engine.statements = sum.statements;
  if (breaker_) figures.breaker = breaker_->snapshot();
  figures.at_risk = engine_info().at_risk;
  figures.refuses_writes = !store_refusal().empty();
  if (store_.cache) figures.cache = store_.cache->snapshot();
  {
    std::lock_guard lock(roles_mutex_);
    if (reconciler_) figures.operator_queue = reconciler_->operator_queue();
  }
  std::string text = metrics_.text(figures, stats_);
  {
    std::lock_guard lock(roles_mutex_);
    if (webhooks_) webhooks_->append_metrics(text);
  }
  if (reloader_) reloader_->append_metrics(text);
  if (log_.spans()) log_.spans()->append_metrics(text);
  return text;
}

}  // namespace oncekey::gateway
