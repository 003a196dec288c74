#include "oncekey/client.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <random>

#include "client/attempt.h"
#include "client/request_text.h"
#include "client/verdict.h"
#include "http/field.h"

namespace oncekey {
namespace {

template <class Clock>
TimestampMs milliseconds_of() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch())
      .count();
}

void pause_for(DurationMs duration, const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any never;
  std::unique_lock lock(mutex);
  never.wait_for(lock, stop, std::chrono::milliseconds(duration), [] { return false; });
}

double random_fraction() {
  thread_local std::mt19937_64 source{std::random_device{}()};
  return std::uniform_real_distribution<double>(0, 1)(source);
}

// One operation on its way to an answer.
class Run {
 public:
  Run(const ClientOptions& options, const ClientSurroundings& surroundings,
      const ClientOperation& operation, const std::stop_token& stop)
      : options_(options),
        surroundings_(surroundings),
        operation_(operation),
        stop_(stop),
        begun_at_(surroundings.steady_ms()) {}

  ClientResult to_the_end(const std::string& base_url) {
    const auto url = http::parse_http_url(base_url);
    if (!url) return give_up(GaveUp::Why::invalid, url.error());
    std::shared_ptr<const http::ClientTls> tls;
    if (url->secure) {
      const auto opened = http::ClientTls::open({.ca = options_.ca_file});
      if (!opened) return give_up(GaveUp::Why::invalid, "ca_file: " + opened.error());
      tls = *opened;
    }
    key_ = operation_.key.empty() ? client::random_key() : operation_.key;
    // Looked at before a key is kept for what can never be sent, and again with the key that was
    // kept.
    std::string objection = client::objection_to(operation_, key_, options_);
    if (!objection.empty()) return give_up(GaveUp::Why::invalid, std::move(objection));
    if (auto refused = settle_key()) return *refused;
    objection = client::objection_to(operation_, key_, options_);
    if (!objection.empty()) return give_up(GaveUp::Why::invalid, std::move(objection));
    const std::string text = client::request_text(*url, operation_, key_, options_);
    for (;;) {
      if (auto ended = may_go_on()) return *ended;
      ++attempts_;
      const DurationMs timeout = std::min(options_.attempt_timeout_ms, time_left());
      auto outcome = client::perform(
          {*url, operation_.method, text, timeout, options_.answer_size_max, tls}, stop_);
      if (auto ended = take(std::move(outcome))) return *ended;
      if (auto ended = pause()) return *ended;
    }
  }

 private:
  // The key that an earlier run has left for this name goes before the one just made.
  std::optional<ClientResult> settle_key() {
    const TimestampMs now = surroundings_.wall_ms();
    maybe_executed_ = !operation_.key.empty();
    safe_until_ = now + options_.key_age_max_ms;
    if (!is_kept()) return std::nullopt;
    const auto taken = options_.key_file->take(operation_.name, key_, now);
    if (!taken) return give_up(GaveUp::Why::key_file, taken.error());
    const KeyFile::Entry& entry = taken->entry;
    if (!operation_.key.empty() && entry.key != operation_.key) {
      return give_up(GaveUp::Why::invalid, "the operation " + operation_.name +
                                               " is under way with another key than the one given");
    }
    key_ = entry.key;
    maybe_executed_ = maybe_executed_ || taken->was_there;
    safe_until_ =
        entry.expires_at != 0 ? entry.expires_at : entry.created_at + options_.key_age_max_ms;
    return std::nullopt;
  }

  std::optional<ClientResult> may_go_on() {
    if (stop_.stop_requested()) return give_up(GaveUp::Why::aborted, "called off");
    // A key that nothing was sent with cannot be too old.
    if (maybe_executed_ && surroundings_.wall_ms() >= safe_until_) {
      return give_up(GaveUp::Why::key_expires,
                     "the key is so old that the server may have forgotten it");
    }
    if (time_left() <= 0) return give_up(GaveUp::Why::deadline, "the deadline is over");
    return std::nullopt;
  }

  std::optional<ClientResult> take(client::AttemptOutcome outcome) {
    last_answer_.reset();
    asked_wait_ = 0;
    if (const auto* nothing = std::get_if<client::NothingSent>(&outcome)) {
      problem_ = nothing->error;
      return std::nullopt;
    }
    if (const auto* none = std::get_if<client::NoAnswer>(&outcome)) {
      problem_ = none->error;
      maybe_executed_ = true;
      return std::nullopt;
    }
    last_answer_ = std::move(std::get<ClientAnswer>(outcome));
    problem_ = "the answer was " + std::to_string(last_answer_->status);
    const TimestampMs now = surroundings_.wall_ms();
    if (const auto expires_at = client::expiry(*last_answer_, now)) note_expiry(*expires_at);
    switch (client::judge(*last_answer_)) {
      case client::Verdict::settled:
        return finish(true);
      case client::Verdict::refused:
        return finish(!maybe_executed_);
      case client::Verdict::unprotected:
        unprotected_ = true;
        return give_up(GaveUp::Why::unprotected, "it was executed without a record of it");
      case client::Verdict::again:
        break;
    }
    maybe_executed_ = true;
    asked_wait_ = client::retry_after(*last_answer_, now).value_or(0);
    return std::nullopt;
  }

  std::optional<ClientResult> pause() {
    if (stop_.stop_requested()) return give_up(GaveUp::Why::aborted, "called off");
    if (attempts_ >= options_.attempts_max) {
      return give_up(GaveUp::Why::attempts, std::to_string(attempts_) + " attempts were made");
    }
    const DurationMs wait = std::max(asked_wait_, jitter());
    if (maybe_executed_ && surroundings_.wall_ms() + wait >= safe_until_) {
      too_late_ = true;
      return give_up(GaveUp::Why::key_expires,
                     "the server may have forgotten the key before the next attempt");
    }
    if (wait >= time_left()) {
      return give_up(GaveUp::Why::deadline, "the deadline is before the next attempt");
    }
    if (options_.on_retry) options_.on_retry({attempts_, problem_, wait});
    surroundings_.pause(wait, stop_);
    return std::nullopt;
  }

  DurationMs jitter() const {
    DurationMs ceiling = options_.backoff_ms;
    for (int i = 1; i < attempts_ && ceiling < options_.backoff_max_ms; ++i) ceiling *= 2;
    ceiling = std::min(ceiling, options_.backoff_max_ms);
    return static_cast<DurationMs>(surroundings_.chance() * static_cast<double>(ceiling));
  }

  DurationMs time_left() const {
    return options_.deadline_ms - (surroundings_.steady_ms() - begun_at_);
  }

  bool is_kept() const { return options_.key_file != nullptr && !operation_.name.empty(); }

  // Kept for the next run as well. A file that cannot be written only leaves the older bound.
  void note_expiry(TimestampMs expires_at) {
    safe_until_ = expires_at;
    if (is_kept()) (void)options_.key_file->set_expiry(operation_.name, key_, expires_at);
  }

  ClientResult finish(bool settled) {
    // An entry that stays although it was to go does no harm: the next run gets the same answer.
    const bool forget = settled && is_kept() && options_.forget_settled;
    if (forget) (void)options_.key_file->remove(operation_.name, key_);
    return Finished{std::move(*last_answer_), key_, attempts_, settled};
  }

  ClientResult give_up(GaveUp::Why why, std::string detail) {
    if (!problem_.empty()) detail += "; last: " + problem_;
    const bool forgotten = too_late_ || (maybe_executed_ && surroundings_.wall_ms() >= safe_until_);
    return GaveUp{why,
                  std::move(detail),
                  key_,
                  attempts_,
                  !unprotected_ && !forgotten,
                  std::move(last_answer_),
                  maybe_executed_ || unprotected_};
  }

  const ClientOptions& options_;
  const ClientSurroundings& surroundings_;
  const ClientOperation& operation_;
  const std::stop_token& stop_;
  const TimestampMs begun_at_;
  std::string key_;
  int attempts_ = 0;
  bool maybe_executed_ = false;  // by this run or one before
  bool unprotected_ = false;
  TimestampMs safe_until_ = 0;  // after it, the key may be a new one to the server
  bool too_late_ = false;       // for the pause that is due
  DurationMs asked_wait_ = 0;
  std::string problem_;
  std::optional<ClientAnswer> last_answer_;
};

}  // namespace

ClientSurroundings ClientSurroundings::real() {
  return {milliseconds_of<std::chrono::system_clock>, milliseconds_of<std::chrono::steady_clock>,
          pause_for, random_fraction};
}

std::string_view ClientAnswer::header(std::string_view name) const {
  for (const Header& each : headers) {
    if (http::equals_ignoring_case(each.name, name)) return each.value;
  }
  return "";
}

bool ClientAnswer::replayed() const {
  return http::equals_ignoring_case(header("Idempotency-Replayed"), "true") ||
         http::equals_ignoring_case(header("Idempotent-Replayed"), "true");
}

std::string_view to_string(GaveUp::Why why) {
  switch (why) {
    case GaveUp::Why::attempts:
      return "attempts";
    case GaveUp::Why::deadline:
      return "deadline";
    case GaveUp::Why::key_expires:
      return "key_expires";
    case GaveUp::Why::unprotected:
      return "unprotected";
    case GaveUp::Why::aborted:
      return "aborted";
    case GaveUp::Why::key_file:
      return "key_file";
    case GaveUp::Why::invalid:
      return "invalid";
  }
  return "";
}

Client::Client(std::string base_url, ClientOptions options, ClientSurroundings surroundings)
    : base_url_(std::move(base_url)),
      options_(std::move(options)),
      surroundings_(std::move(surroundings)) {}

ClientResult Client::run(const ClientOperation& operation, const std::stop_token& stop) const {
  return Run(options_, surroundings_, operation, stop).to_the_end(base_url_);
}

}  // namespace oncekey
