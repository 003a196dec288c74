#include "outbox/worker.h"

#include <algorithm>
#include <iterator>

#include "oncekey/crash_point.h"

namespace oncekey::outbox {

using std::chrono::milliseconds;

namespace {

constexpr milliseconds look_after_every{5'000};
constexpr std::size_t reap_batch = 1'000;
constexpr milliseconds trouble_pause_min{100};
constexpr milliseconds trouble_pause_max{2'000};
// A wait that ends at once, again and again, with nothing to claim: something is due that is not
// for us. Looking again has time then.
constexpr int idle_claims_max = 10;
constexpr milliseconds idle_pause{100};
constexpr milliseconds drain_look_every{20};

}  // namespace

Worker::Worker(Queue& queue, WorkerConfig config, const std::vector<SinkConfig>& sinks,
               UnixSeconds clock, WorkerObserver& observer)
    : queue_(queue), config_(std::move(config)), observer_(observer) {
  deliveries_ = std::make_unique<Deliveries>(
      loop_, sinks, clock,
      [this](std::vector<Finished> finished) { receive(std::move(finished)); });
  thread_ = std::thread([this] { loop_.run(); });
}

Worker::~Worker() {
  loop_.stop();
  thread_.join();
}

void Worker::receive(std::vector<Finished> finished) {
  std::lock_guard lock(mutex_);
  std::move(finished.begin(), finished.end(), std::back_inserter(finished_));
  if (in_queue_wait_) {
    in_queue_wait_ = false;  // one wake-up is enough
    queue_.wake();
  }
  arrived_.notify_one();
}

void Worker::stop() {
  std::lock_guard lock(mutex_);
  stopping_ = true;
  if (in_queue_wait_) queue_.wake();
  arrived_.notify_one();
}

void Worker::failed(std::string_view doing, const std::string& error) {
  ++figures_.queue_errors;
  if (figures_.queue_good.exchange(false) || trouble_pause_.count() == 0) {
    observer_.queue_failed(doing, error);
  }
  trouble_pause_ = std::clamp(2 * trouble_pause_, trouble_pause_min, trouble_pause_max);
}

void Worker::succeeded() {
  if (!figures_.queue_good.exchange(true) && trouble_pause_.count() > 0) {
    observer_.queue_recovered();
  }
  trouble_pause_ = milliseconds(0);
}

void Worker::Group::give_up() {
  given_up = true;
  lease->until = 0;
}

// A message can come again while it is still here: its claim ran out before it was extended. It is
// not delivered a second time then; what comes of the first is recorded under the new claim.
bool Worker::still_has(const Claimed& claimed) {
  const auto [known, is_new] = claim_of_.try_emplace(claimed.id, claimed.claim);
  if (is_new) return false;
  auto earlier = groups_.find(known->second);
  if (earlier != groups_.end()) {
    earlier->second.give_up();
    earlier->second.ids.erase(claimed.id);
    if (earlier->second.ids.empty()) groups_.erase(earlier);
  }
  known->second = claimed.claim;
  return true;
}

// Returns how many were claimed.
std::size_t Worker::claim(std::size_t limit) {
  const http::SteadyMs asked_at = http::steady_now_ms();
  auto claimed = queue_.claim(config_.name, limit, lease());
  if (!claimed) {
    failed("claim", claimed.error());
    return 0;
  }
  succeeded();
  if (claimed->empty()) return 0;
  crash_point(CrashPoint::worker_claimed);
  std::vector<Held> batch;
  batch.reserve(claimed->size());
  for (Claimed& one : *claimed) {
    Group& group = groups_[one.claim];
    if (!group.lease) {
      group.lease = std::make_shared<ClaimLease>();
      group.lease->until = asked_at + config_.lease_ms;
      group.extend_at = Clock::now() + lease() / 3;
    }
    group.ids.insert(one.id);
    counts_.taken_over += one.taken_over ? 1 : 0;
    if (!still_has(one)) batch.push_back({std::move(one), group.lease});
  }
  held_ += batch.size();
  counts_.claimed += batch.size();
  figures_.claimed = counts_.claimed;
  figures_.taken_over = counts_.taken_over;
  figures_.held = held_;
  auto shared = std::make_shared<std::vector<Held>>(std::move(batch));
  loop_.post([this, shared] { deliveries_->take(std::move(*shared)); });
  return claimed->size();
}

// Everything that has finished since the last time, in one commit. False: there was nothing, or it
// could not be recorded and is kept for the next time.
bool Worker::record() {
  {
    std::lock_guard lock(mutex_);
    std::move(finished_.begin(), finished_.end(), std::back_inserter(recording_));
    finished_.clear();
  }
  if (recording_.empty()) return false;
  std::vector<Outcome> outcomes;
  outcomes.reserve(recording_.size());
  for (Finished& finished : recording_) {
    finished.outcome.claim = claim_of_.at(finished.outcome.id);
    outcomes.push_back(finished.outcome);
  }
  auto lost = queue_.record(outcomes);
  if (!lost) {
    failed("record", lost.error());
    return false;
  }
  succeeded();
  ++figures_.records;
  crash_point(CrashPoint::worker_recorded);
  const std::unordered_set<MessageId> gone(lost->begin(), lost->end());
  for (const Finished& finished : recording_) {
    const bool is_lost = gone.contains(finished.outcome.id);
    count(finished, is_lost);
    forget(finished.outcome);
    observer_.recorded(finished.claimed, finished.outcome, is_lost);
  }
  recording_.clear();
  figures_.held = held_;
  return true;
}

void Worker::count(const Finished& finished, bool lost) {
  if (lost) {
    figures_.lost = ++counts_.lost;
  } else if (std::holds_alternative<Delivered>(finished.outcome.what)) {
    figures_.delivered = ++counts_.delivered;
  } else if (std::holds_alternative<RetryLater>(finished.outcome.what)) {
    figures_.retried = ++counts_.retried;
  } else if (std::holds_alternative<DeadLetter>(finished.outcome.what)) {
    figures_.dead = ++counts_.dead;
  } else {
    figures_.released = ++counts_.released;
  }
}

void Worker::forget(const Outcome& outcome) {
  --held_;
  claim_of_.erase(outcome.id);
  auto group = groups_.find(outcome.claim);
  if (group == groups_.end()) return;
  group->second.ids.erase(outcome.id);
  if (group->second.ids.empty()) groups_.erase(group);
}

void Worker::extend() {
  const auto now = Clock::now();
  for (auto& [claim, group] : groups_) {
    if (group.extend_at <= now) extend(claim, group);
  }
}

void Worker::extend(Claim claim, Group& group) {
  const std::vector<MessageId> ids(group.ids.begin(), group.ids.end());
  const http::SteadyMs asked_at = http::steady_now_ms();
  auto held = queue_.extend(ids, claim, lease());
  // It stays due: once the queue answers again, this comes before the next claim, which would take
  // what is held here.
  if (!held) return failed("extend", held.error());
  succeeded();
  crash_point(CrashPoint::worker_extended);
  group.extend_at = Clock::now() + lease() / 3;
  if (*held < ids.size()) group.give_up();
  if (!group.given_up) group.lease->until = asked_at + config_.lease_ms;
}

void Worker::look_after() {
  const auto now = Clock::now();
  if (now < look_after_at_) return;
  look_after_at_ = now + look_after_every;
  if (auto stats = queue_.stats()) {
    figures_.waiting = stats->waiting;
    figures_.dead_letters = stats->dead;
    figures_.oldest_age_ms = static_cast<std::uint64_t>(stats->oldest_age.count());
  } else {
    failed("stats", stats.error());
    return;
  }
  auto reaped = queue_.reap(milliseconds(config_.retention_ms), reap_batch);
  if (!reaped) return failed("reap", reaped.error());
  figures_.reaped += *reaped;
  if (*reaped == reap_batch) look_after_at_ = now;  // there is more
}

void Worker::rest(milliseconds at_most, bool until_stop) {
  std::unique_lock lock(mutex_);
  arrived_.wait_for(lock, at_most, [&] { return !finished_.empty() || (until_stop && stopping_); });
}

void Worker::wait_for_work(std::size_t claimed, std::size_t asked) {
  if (asked > 0 && claimed == asked) return;  // there is more
  if (trouble_pause_.count() > 0) {
    std::unique_lock lock(mutex_);
    arrived_.wait_for(lock, trouble_pause_, [this] { return stopping_.load(); });
    return;
  }
  milliseconds at_most(config_.poll_ms);
  if (held_ > 0) at_most = std::min(at_most, lease() / 6);
  if (asked == 0) return rest(at_most);
  idle_claims_ = claimed == 0 ? idle_claims_ + 1 : 0;
  const auto began = Clock::now();
  {
    std::lock_guard lock(mutex_);
    if (!finished_.empty() || stopping_) return;
    in_queue_wait_ = true;
  }
  queue_.wait(at_most);
  {
    std::lock_guard lock(mutex_);
    in_queue_wait_ = false;
    if (!finished_.empty()) idle_claims_ = 0;
  }
  if (Clock::now() - began > idle_pause) idle_claims_ = 0;
  if (idle_claims_ > idle_claims_max) rest(idle_pause);
}

WorkerCounts Worker::run_once(std::size_t limit) {
  const WorkerCounts before = counts_;
  claim(std::min({limit, config_.batch_max, config_.claimed_max}));
  while (held_ > 0) {
    rest(lease() / 6, false);
    if (!record() && trouble_pause_.count() > 0) std::this_thread::sleep_for(trouble_pause_);
    extend();
  }
  WorkerCounts counts = counts_;
  counts.claimed -= before.claimed;
  counts.delivered -= before.delivered;
  counts.retried -= before.retried;
  counts.dead -= before.dead;
  counts.released -= before.released;
  counts.lost -= before.lost;
  counts.taken_over -= before.taken_over;
  return counts;
}

WorkerCounts Worker::run(milliseconds grace) {
  while (!stopping_) {
    record();
    extend();
    look_after();
    // Small claims cost as much as large ones: better none until there is room for a good part.
    const std::size_t room = config_.claimed_max - std::min(held_, config_.claimed_max);
    std::size_t asked = std::min(room, config_.batch_max);
    if (asked < config_.batch_max / 4 && held_ > 0) asked = 0;
    if (trouble_pause_.count() > 0 && held_ > 0) asked = 0;
    const std::size_t claimed = asked > 0 ? claim(asked) : 0;
    wait_for_work(claimed, asked);
  }
  drain(grace);
  return counts_;
}

void Worker::drain(milliseconds grace) {
  figures_.draining = true;
  loop_.post([this] { deliveries_->release_waiting(); });
  const auto deadline = Clock::now() + grace;
  bool cut_off = false;
  while (held_ > 0) {
    const auto now = Clock::now();
    if (now >= deadline && !cut_off) {
      cut_off = true;
      loop_.post([this] { deliveries_->cancel(); });
    }
    // A queue that is down must not keep the process: the claims run out by themselves.
    if (now >= deadline + lease()) return;
    rest(std::max(drain_look_every, trouble_pause_), false);
    record();
    if (!cut_off) extend();
  }
}

}  // namespace oncekey::outbox
