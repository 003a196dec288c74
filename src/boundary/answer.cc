#include "boundary/answer.h"

#include <algorithm>
#include <chrono>

#include "boundary/answer_wording.h"
#include "boundary/json_writer.h"

namespace oncekey {
namespace {

constexpr DurationMs retry_after_default_ms = 1000;

int override_of(AnswerCase answer_case, const AnswerStatuses& statuses) {
  switch (answer_case) {
    case AnswerCase::mismatch:
      return statuses.mismatch;
    case AnswerCase::in_flight:
      return statuses.in_flight;
    case AnswerCase::outcome_unknown:
      return statuses.unknown;
    case AnswerCase::result_expired:
    case AnswerCase::result_not_kept:
      return statuses.expired;
    default:
      return 0;  // the other statuses are not a route's to choose
  }
}

std::string detail_of(const Wording& words, const AnswerContext& context) {
  if (!context.detail.empty()) return std::string(context.detail);
  std::string detail(words.detail);
  constexpr std::string_view placeholder = "{header}";
  if (const auto at = detail.find(placeholder); at != std::string::npos) {
    detail.replace(at, placeholder.size(), context.key_header);
  }
  return detail;
}

// Where in the published policy this answer is explained.
std::string policy_link(const Wording& words, const AnswerContext& context) {
  return std::string(context.policy_url).append("#").append(words.code);
}

std::string problem_body(const Wording& words, int status, const AnswerContext& context) {
  std::string body;
  JsonWriter w(body);
  w.begin_object();
  w.member("type", policy_link(words, context));
  w.member("title", words.title);
  w.member("status", status);
  w.member("detail", detail_of(words, context));
  if (!context.instance_id.empty()) {
    w.member("instance", std::string("urn:uuid:").append(context.instance_id));
  }
  w.member("code", words.code);
  w.member("retryable", words.retryable);
  w.member("safe_new_key", words.safe_new_key);
  w.end_object();
  return body;
}

std::string stripe_body(AnswerCase answer_case, const Wording& words,
                        const AnswerContext& context) {
  std::string body;
  JsonWriter w(body);
  w.begin_object();
  w.key("error");
  w.begin_object();
  // The one code that Stripe's own clients know and look for.
  w.member("code", answer_case == AnswerCase::in_flight ? "idempotency_key_in_use" : words.code);
  w.member("doc_url", policy_link(words, context));
  w.member("message", detail_of(words, context));
  w.member("type", words.stripe_type);
  w.member("retryable", words.retryable);
  w.member("safe_new_key", words.safe_new_key);
  w.end_object();
  w.end_object();
  return body;
}

std::string whole_seconds(DurationMs duration_ms) {
  return std::to_string(std::max<DurationMs>(1, duration_ms / 1000 + (duration_ms % 1000 > 0)));
}

}  // namespace

int answer_status(AnswerCase answer_case, Profile profile, const AnswerStatuses& statuses) {
  if (const int chosen = override_of(answer_case, statuses); chosen != 0) return chosen;
  const Wording& words = wording(answer_case);
  return profile == Profile::stripe && words.stripe_status != 0 ? words.stripe_status
                                                                : words.status;
}

Answer make_answer(AnswerCase answer_case, const AnswerContext& context) {
  const Wording& words = wording(answer_case);
  const bool stripe = context.profile == Profile::stripe;
  Answer answer;
  answer.status = context.status != 0
                      ? context.status
                      : answer_status(answer_case, context.profile, context.statuses);
  answer.code = words.code;
  answer.headers.push_back(
      {"Content-Type", stripe ? "application/json" : "application/problem+json"});
  answer.headers.push_back({"Content-Language", "en"});
  if (!context.policy_url.empty()) {
    answer.headers.push_back(
        {"Link", "<" + std::string(context.policy_url) + ">; rel=\"describedby\""});
  }
  if (words.retry_after || (words.retryable && context.retry_after_ms)) {
    answer.headers.push_back(
        {"Retry-After", whole_seconds(context.retry_after_ms.value_or(retry_after_default_ms))});
  }
  if (answer.status == 401) {
    const bool refused = answer_case == AnswerCase::tenant_refused;
    answer.headers.push_back(
        {"WWW-Authenticate", refused ? "Bearer error=\"invalid_token\"" : "Bearer"});
  }
  if (stripe) answer.headers.push_back({"Stripe-Should-Retry", words.retryable ? "true" : "false"});
  answer.body = stripe ? stripe_body(answer_case, words, context)
                       : problem_body(words, answer.status, context);
  return answer;
}

std::string_view replay_marker(Profile profile) {
  switch (profile) {
    case Profile::ietf:
      return "Idempotency-Replayed";
    case Profile::stripe:
      return "Idempotent-Replayed";
  }
  return "Idempotency-Replayed";
}

std::string format_rfc3339(TimestampMs timestamp) {
  // The form has four digits for the year; anything outside is a mistake, and shown as the edge.
  constexpr TimestampMs year_0001 = -62'135'596'800'000;
  constexpr TimestampMs year_9999_end = 253'402'300'799'999;
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds(std::clamp(timestamp, year_0001, year_9999_end))};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time - day).count();
  // On the path of every answer, so without a formatting library.
  std::string text = "0000-00-00T00:00:00Z";
  auto put = [&text](std::size_t at, int digits, std::int64_t number) {
    for (int i = digits - 1; i >= 0; --i, number /= 10) {
      text[at + static_cast<std::size_t>(i)] = static_cast<char>('0' + number % 10);
    }
  };
  put(0, 4, static_cast<int>(date.year()));
  put(5, 2, static_cast<unsigned>(date.month()));
  put(8, 2, static_cast<unsigned>(date.day()));
  put(11, 2, seconds / 3600);
  put(14, 2, seconds / 60 % 60);
  put(17, 2, seconds % 60);
  return text;
}

}  // namespace oncekey
