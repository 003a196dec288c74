#include "outbox/deliveries.h"

#include <algorithm>
#include <stdexcept>

#include "oncekey/crash_point.h"

namespace oncekey::outbox {

namespace {

constexpr http::SteadyMs look_every_ms = 250;
constexpr std::size_t error_length_max = 500;

}  // namespace

Deliveries::Deliveries(http::Loop& loop, const std::vector<SinkConfig>& sinks,
                       const UnixSeconds& clock, HandOver hand_over)
    : loop_(loop), hand_over_(std::move(hand_over)), random_(std::random_device{}()) {
  for (const SinkConfig& config : sinks) {
    auto sink = open_sink(loop, config, clock);
    if (!sink) throw std::runtime_error("sink \"" + config.name + "\": " + sink.error());
    Lane& lane = lanes_[config.name];
    lane.config = config;
    lane.backoff.base = std::chrono::milliseconds(config.backoff_base_ms);
    lane.backoff.max = std::chrono::milliseconds(config.backoff_max_ms);
    lane.sink = std::move(*sink);
  }
  loop_.add_round_end(*this);
  arm(loop_.timers(), loop_.now() + look_every_ms);
}

Deliveries::~Deliveries() = default;

void Deliveries::take(std::vector<Held> messages) {
  for (Held& held : messages) {
    const Claimed& claimed = held.claimed;
    auto lane = lanes_.find(claimed.message.destination);
    if (lane == lanes_.end()) {
      std::string error =
          "no sink is named \"" + claimed.message.destination + "\" in this worker's configuration";
      finish(std::move(held), DeadLetter{std::move(error)});
    } else if (claimed.attempt > lane->second.config.attempts_max) {
      // Its last attempt left no outcome: whoever made it died, perhaps of it.
      std::string error =
          "given up: attempt " + std::to_string(claimed.attempt - 1) + " ended without an outcome";
      finish(std::move(held), DeadLetter{std::move(error)});
    } else if (stopping_) {
      finish(std::move(held), Released{});
    } else {
      lane->second.waiting.push_back({std::move(held), loop_.now()});
    }
  }
  for (auto& [name, lane] : lanes_) put_back_what_is_too_much(lane);
}

void Deliveries::on_round_end() {
  for (auto& [name, lane] : lanes_) {
    if (lane.waiting.empty()) continue;
    begin(lane);
    lane.sink->flush();
  }
  if (finished_.empty()) return;
  std::vector<Finished> finished;
  finished.swap(finished_);
  hand_over_(std::move(finished));
}

void Deliveries::begin(Lane& lane) {
  while (lane.in_flight < lane.config.in_flight_max && !lane.waiting.empty()) {
    Held held = std::move(lane.waiting.front().held);
    lane.waiting.pop_front();
    if (lane.waiting.empty()) lane.put_back = put_back_min;
    // Somebody else may have it by now.
    if (held.lease->until.load(std::memory_order_relaxed) <= loop_.now()) {
      finish(std::move(held), Released{});
      continue;
    }
    ++lane.in_flight;
    crash_point(CrashPoint::worker_before_delivery);
    http::spawn(deliver(lane, std::move(held)));
  }
}

http::Task<void> Deliveries::deliver(Lane& lane, Held held) {
  Delivery delivery = co_await lane.sink->deliver(held.claimed);
  --lane.in_flight;
  crash_point(delivery.index() == 0 ? CrashPoint::worker_delivered : CrashPoint::worker_refused);
  auto what = judge(lane, held.claimed, std::move(delivery));
  finish(std::move(held), std::move(what));
}

decltype(Outcome::what) Deliveries::judge(const Lane& lane, const Claimed& claimed,
                                          Delivery delivery) {
  if (auto* delivered = std::get_if<Delivered>(&delivery)) return std::move(*delivered);
  auto& failed = std::get<NotDelivered>(delivery);
  if (failed.error.size() > error_length_max) failed.error.resize(error_length_max);
  if (failed.hopeless) return DeadLetter{std::move(failed.error)};
  if (cancelled_) return RetryLater{"cut off as the worker stopped", std::chrono::milliseconds(0)};
  if (claimed.attempt >= lane.config.attempts_max) {
    return DeadLetter{"given up after " + std::to_string(claimed.attempt) +
                      " attempts: " + failed.error};
  }
  const auto after = std::max(lane.backoff.delay(claimed.attempt, draw()), failed.not_before);
  return RetryLater{std::move(failed.error), after};
}

void Deliveries::finish(Held held, decltype(Outcome::what) what) {
  Finished finished;
  finished.outcome = {held.claimed.id, held.claimed.claim, std::move(what)};
  finished.claimed = std::move(held.claimed);
  finished.claimed.message.payload = std::string();
  finished_.push_back(std::move(finished));
}

void Deliveries::on_deadline() {
  for (auto& [name, lane] : lanes_) put_back_what_is_too_much(lane);
  arm(loop_.timers(), loop_.now() + look_every_ms);
}

void Deliveries::put_back_what_is_too_much(Lane& lane) {
  if (lane.waiting.size() <= slow_waiting_max ||
      loop_.now() - lane.waiting.front().since < slow_after_ms) {
    return;
  }
  while (lane.waiting.size() > slow_waiting_max) {
    // Spread, so that they do not all come back at once.
    const double part = 0.5 + 0.5 * draw();
    const auto after = std::chrono::milliseconds(
        static_cast<std::int64_t>(static_cast<double>(lane.put_back.count()) * part));
    finish(std::move(lane.waiting.back().held), Released{after});
    lane.waiting.pop_back();
  }
  const http::SteadyMs now = loop_.now();
  if (now < lane.put_back_until) return;
  lane.put_back = std::min(2 * lane.put_back, put_back_max);
  lane.put_back_until = now + lane.put_back.count();
}

void Deliveries::release_waiting() {
  stopping_ = true;
  for (auto& [name, lane] : lanes_) {
    for (Waiting& waiting : lane.waiting) finish(std::move(waiting.held), Released{});
    lane.waiting.clear();
  }
}

void Deliveries::cancel() {
  cancelled_ = true;
  for (auto& [name, lane] : lanes_) lane.sink->cancel();
}

}  // namespace oncekey::outbox
