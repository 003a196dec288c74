#include "gateway/admission.h"

#include "gateway/limit_settings.h"
#include "http/sleep.h"

namespace oncekey::gateway {

namespace {

// Places that duplicates have taken come back, and a count of live keys ends, within milliseconds
// as a rule. A new key waits for that, but not for long.
constexpr http::SteadyMs patience_ms = 250;
constexpr http::SteadyMs try_again_ms = 5;

}  // namespace

Admission::Admission(const Context& context, const RouteConfig& route, const Request& request)
    : context_(context),
      route_(route),
      request_(request),
      rate_(new_key_rate(context.config.limits, request.tenant)),
      live_(live_key_rules(context.config.limits, request.tenant)) {}

bool Admission::take(bool last_try) {
  worth_waiting_ = false;
  if (live_.max > 0) {
    const LiveKeys::Place place =
        context_.live_keys.take(request_.id.scope, live_, context_.loop.now(), last_try);
    if (!place.granted) {
      answer_case_ = AnswerCase::too_many_live_keys;
      retry_after_ms_ = place.retry_after_ms;
      worth_waiting_ = place.worth_waiting;
      return false;
    }
    holds_live_ = true;
  }
  return take_rate();
}

bool Admission::take_rate() {
  if (rate_.per_second > 0) {
    const NewKeyLimit::Taken taken =
        context_.new_keys.take(request_.tenant, rate_, steady_now_us());
    if (!taken.granted) {
      give_back();
      answer_case_ = AnswerCase::too_many_new_keys;
      retry_after_ms_ = taken.retry_after_ms;
      worth_waiting_ = taken.others_waiting;
      return false;
    }
    holds_new_ = true;
  }
  return true;
}

http::Task<Admission::Verdict> Admission::ask() {
  paused_ms_ = context_.pauses.retry_in(route_.match, wall_now_ms());
  if (paused_ms_) {
    answer_case_ = AnswerCase::route_paused;
    retry_after_ms_ = paused_ms_;
  }
  if (may_be_new()) {
    if (!limited() || take(false)) co_return Verdict::reserve;
  }
  Verdict verdict = co_await look();
  co_return verdict;
}

http::Task<Admission::Verdict> Admission::look() {
  http::SteadyMs deadline = context_.loop.now() + context_.config.timeouts.store_ms;
  CommitGate::Commit<Get> commit = context_.gate.commit<Get>(deadline);
  commit.operation().id = request_.id;
  auto outcome = co_await commit;
  if (std::holds_alternative<Unavailable>(outcome)) {
    // What is known without the store is still repeated; nothing else is executed.
    unseen_ = true;
    // Without the store live keys do not count, and the rate of new ones does.
    if (answer_case_ == AnswerCase::too_many_live_keys) take_rate();
    co_return Verdict::reserve;
  }
  const auto& record = std::get<std::optional<Record>>(outcome);
  if (record) {
    saw_record_ = true;
    // What may not run must not run again, either; anything else is answered.
    const bool would_run =
        record->state == State::failed_retryable && record->fingerprint == request_.fingerprint;
    if (may_be_new() || !would_run) co_return Verdict::reserve;
  }
  if (!request_.age.may_execute()) {
    answer_case_ = AnswerCase::outside_window;
    retry_after_ms_.reset();
    co_return Verdict::refused;
  }
  if (paused_ms_) co_return Verdict::refused;
  const http::SteadyMs until = context_.loop.now() + patience_ms;
  while (worth_waiting_) {
    http::Sleep pause(context_.loop, try_again_ms);
    co_await pause;
    const bool last_try = context_.loop.now() >= until;
    if (take(last_try)) co_return Verdict::reserve;
    if (last_try) break;
  }
  co_return Verdict::refused;
}

void Admission::settle(const ReserveOutcome& outcome) {
  const auto* execute = std::get_if<Execute>(&outcome);
  const bool is_new = execute && execute->attempt == 1;
  if (is_new && live_.max > 0) {
    if (holds_live_) {
      context_.live_keys.used(request_.id);
    } else {
      context_.live_keys.opened(request_.id);  // the record went between the look and now
    }
    holds_live_ = false;
  }
  if (is_new) use_rate();
  give_back_live();
  // Without the store it may run all the same.
  if (!std::holds_alternative<Unavailable>(outcome)) give_back_rate();
}

void Admission::use_rate() {
  if (rate_.per_second == 0) return;
  if (holds_new_) {
    context_.new_keys.used(request_.tenant);
  } else {
    context_.new_keys.owe(request_.tenant, rate_, steady_now_us());
  }
  holds_new_ = false;
}

void Admission::give_back_rate() {
  if (holds_new_) context_.new_keys.give_back(request_.tenant, rate_, steady_now_us());
  holds_new_ = false;
}

void Admission::give_back_live() {
  if (holds_live_) context_.live_keys.give_back(request_.id.scope);
  holds_live_ = false;
}

void Admission::give_back() {
  give_back_rate();
  give_back_live();
}

}  // namespace oncekey::gateway
