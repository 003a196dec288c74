#include "answers.h"

#include <algorithm>
#include <ctime>

namespace payments {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

std::string rfc3339(oncekey::TimestampMs at) {
  const std::time_t seconds = at / 1000;
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

struct ToOutcome {
  Answer operator()(const oncekey::Done& done) const {
    if (!done.response) return key_used_before();
    Answer answer = *done.response;
    if (done.replayed) answer.headers.push_back({"Idempotency-Replayed", "true"});
    answer.headers.push_back({"Idempotency-Expires", rfc3339(done.expires_at)});
    return answer;
  }
  Answer operator()(const oncekey::InFlight&) const {
    return problem(409, "request_in_flight", "The first request with this key is still running.",
                   milliseconds(1000));
  }
  Answer operator()(const oncekey::Mismatch&) const {
    return problem(422, "idempotency_key_reused", "This key was used for another request.");
  }
  Answer operator()(const oncekey::OutcomeUnknown& unknown) const {
    return problem(
        409, "outcome_unknown", "It is being determined whether this was done.",
        milliseconds(std::max<std::int64_t>(1000, unknown.reconcile_after - unknown.decided_at)));
  }
  Answer operator()(const oncekey::Expired&) const { return key_used_before(); }
  Answer operator()(const oncekey::TryAgain& later) const {
    return problem(503, "try_again", later.error, std::max(later.retry_in, milliseconds(1)));
  }
};

}  // namespace

Answer resource_answer(int status, const std::string& path, const json& resource) {
  Answer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", "application/json"},
                    {"Location", "/" + path + "/" + resource.at("id").get<std::string>()}};
  answer.body = resource.dump();
  return answer;
}

Answer problem(int status, const std::string& code, const std::string& detail,
               milliseconds retry_in) {
  const bool retryable = retry_in.count() > 0;
  Answer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", "application/problem+json"}, {"Content-Language", "en"}};
  if (retryable) {
    answer.headers.push_back({"Retry-After", std::to_string((retry_in.count() + 999) / 1000)});
  }
  answer.body = json{{"type", "about:blank"},
                     {"title", code},
                     {"status", status},
                     {"detail", detail},
                     {"code", code},
                     {"retryable", retryable},
                     {"safe_new_key", status < 409}}
                    .dump();
  return answer;
}

Answer invalid(const std::string& detail) {
  return problem(400, "request_invalid", detail);
}
Answer not_found(const std::string& detail) {
  return problem(404, "not_found", detail);
}
Answer key_used_before() {
  return problem(410, "result_expired",
                 "This key was used before, and its answer is no longer kept. "
                 "GET /payments?idempotency_key=… shows what it made.");
}

Answer answer_to(const oncekey::RunOutcome& outcome) {
  return std::visit(ToOutcome{}, outcome);
}

}  // namespace payments
