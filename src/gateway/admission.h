// Whether a request may be the first with its key: within the tenant's rate of new keys, its cap on
// live keys and the route's age window (SPEC X2, X3), and not while its route is paused. Asked
// before the reservation. Whatever has a record already is let through, so replays, duplicates and
// mismatches are never refused here and use nothing up.
#pragma once

#include <optional>
#include <string>

#include "gateway/context.h"
#include "gateway/request_age.h"
#include "http/task.h"

namespace oncekey::gateway {

class Admission {
 public:
  struct Request {
    const RecordId& id;
    const std::string& tenant;
    const Fingerprint& fingerprint;
    const RequestAge& age;
  };
  Admission(const Context& context, const RouteConfig& route, const Request& request);
  Admission(const Admission&) = delete;
  ~Admission() { give_back(); }

  enum class Verdict { reserve, refused };
  http::Task<Verdict> ask();

  AnswerCase answer_case() const { return answer_case_; }                    // refused
  std::optional<DurationMs> retry_after() const { return retry_after_ms_; }  // refused

  // Otherwise what the reservation gave is handed back, and answered as a refusal. What had been
  // tried before was no new key, whatever limit stood in the way.
  bool may_execute(const Execute& hold) const {
    return may_be_new() && (!unseen_ || hold.attempt > 1);
  }
  // How many keys are live could not be counted, so that nobody knows whether there is room.
  bool is_uncounted() const { return may_be_new() && unseen_ && only_live(); }
  // Without the store's word: not for a key that was seen to have a record. Live keys are not
  // counted then.
  bool may_execute_unprotected() const {
    return may_be_new() && !saw_record_ && (!unseen_ || only_live());
  }

  // What the store said: only a new key counts.
  void settle(const ReserveOutcome& outcome);
  // It runs without the store's word, and does so as often as new keys may come.
  void ran_unprotected() { use_rate(); }

 private:
  bool may_be_new() const { return request_.age.may_execute() && !paused_ms_; }
  bool only_live() const { return answer_case_ == AnswerCase::too_many_live_keys; }
  bool limited() const { return rate_.per_second > 0 || live_.max > 0; }
  bool take(bool last_try);
  bool take_rate();
  http::Task<Verdict> look();
  void use_rate();
  void give_back_rate();
  void give_back_live();
  void give_back();

  const Context& context_;
  const RouteConfig& route_;
  const Request request_;
  NewKeyRate rate_;
  LiveKeyRules live_;
  bool holds_new_ = false;
  bool holds_live_ = false;
  bool worth_waiting_ = false;
  bool saw_record_ = false;
  bool unseen_ = false;  // a limit stood in the way, and the store did not say whether it is known
  AnswerCase answer_case_ = AnswerCase::outside_window;
  std::optional<DurationMs> paused_ms_;  // the route is, for so long
  std::optional<DurationMs> retry_after_ms_;
};

}  // namespace oncekey::gateway
