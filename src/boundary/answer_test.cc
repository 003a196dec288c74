#include "boundary/answer.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <set>

namespace oncekey {
namespace {

constexpr AnswerCase all_cases[] = {
    AnswerCase::key_missing,        AnswerCase::key_invalid,       AnswerCase::tenant_missing,
    AnswerCase::tenant_refused,     AnswerCase::mismatch,          AnswerCase::in_flight,
    AnswerCase::outcome_unknown,    AnswerCase::result_expired,    AnswerCase::result_not_kept,
    AnswerCase::result_unreadable,  AnswerCase::store_unavailable, AnswerCase::upstream_unreachable,
    AnswerCase::upstream_failed,    AnswerCase::body_too_large,    AnswerCase::request_invalid,
    AnswerCase::request_timeout,    AnswerCase::header_too_large,  AnswerCase::not_supported,
    AnswerCase::first_sent_invalid, AnswerCase::outside_window,    AnswerCase::too_many_new_keys,
    AnswerCase::too_many_live_keys, AnswerCase::key_not_found,     AnswerCase::not_executed,
    AnswerCase::route_paused,       AnswerCase::overloaded};

AnswerContext context(Profile profile = Profile::ietf) {
  AnswerContext result;
  result.profile = profile;
  result.policy_url = "/.well-known/idempotency";
  result.instance_id = "8e03978e-40d5-43e8-bc93-6894a57f9324";
  return result;
}

std::string header(const Answer& answer, std::string_view name) {
  for (const Header& h : answer.headers) {
    if (h.name == name) return h.value;
  }
  return "(none)";
}

class Body {
 public:
  explicit Body(const Answer& answer) { element_ = parser_.parse(answer.body); }
  std::string text(const char* pointer) {
    return std::string(std::string_view(element_.at_pointer(pointer)));
  }
  bool truth(const char* pointer) { return element_.at_pointer(pointer).get_bool(); }
  std::int64_t number(const char* pointer) { return element_.at_pointer(pointer).get_int64(); }
  bool has(const char* pointer) {
    return element_.at_pointer(pointer).error() == simdjson::SUCCESS;
  }

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::element element_;
};

TEST(Answer, StatusesAreThoseOfTheProfile) {
  const struct {
    AnswerCase answer_case;
    int ietf, stripe;
  } table[] = {{AnswerCase::key_missing, 400, 400},
               {AnswerCase::key_invalid, 400, 400},
               {AnswerCase::mismatch, 422, 400},
               {AnswerCase::in_flight, 409, 409},
               {AnswerCase::outcome_unknown, 409, 409},
               {AnswerCase::result_expired, 410, 410},
               {AnswerCase::result_not_kept, 410, 410},
               {AnswerCase::store_unavailable, 503, 503},
               {AnswerCase::tenant_missing, 401, 401},
               {AnswerCase::tenant_refused, 401, 401},
               {AnswerCase::upstream_unreachable, 502, 502}};
  for (const auto& row : table) {
    EXPECT_EQ(answer_status(row.answer_case, Profile::ietf, {}), row.ietf);
    EXPECT_EQ(answer_status(row.answer_case, Profile::stripe, {}), row.stripe);
    EXPECT_EQ(make_answer(row.answer_case, context(Profile::ietf)).status, row.ietf);
    EXPECT_EQ(make_answer(row.answer_case, context(Profile::stripe)).status, row.stripe);
  }
}

TEST(Answer, RouteMayChooseItsStatuses) {
  AnswerStatuses statuses{.mismatch = 409, .in_flight = 425, .unknown = 503, .expired = 404};
  for (const auto profile : {Profile::ietf, Profile::stripe}) {
    EXPECT_EQ(answer_status(AnswerCase::mismatch, profile, statuses), 409);
    EXPECT_EQ(answer_status(AnswerCase::in_flight, profile, statuses), 425);
    EXPECT_EQ(answer_status(AnswerCase::outcome_unknown, profile, statuses), 503);
    EXPECT_EQ(answer_status(AnswerCase::result_expired, profile, statuses), 404);
    EXPECT_EQ(answer_status(AnswerCase::result_not_kept, profile, statuses), 404);
    EXPECT_EQ(answer_status(AnswerCase::key_missing, profile, statuses), 400);
  }
  auto with_statuses = context();
  with_statuses.statuses = statuses;
  const auto answer = make_answer(AnswerCase::mismatch, with_statuses);
  EXPECT_EQ(answer.status, 409);
  EXPECT_EQ(Body(answer).number("/status"), 409);
}

TEST(Answer, EveryProblemIsWhole) {
  for (const auto answer_case : all_cases) {
    const auto answer = make_answer(answer_case, context());
    Body body(answer);
    EXPECT_EQ(header(answer, "Content-Type"), "application/problem+json");
    EXPECT_EQ(header(answer, "Content-Language"), "en");
    EXPECT_EQ(header(answer, "Link"), "</.well-known/idempotency>; rel=\"describedby\"");
    EXPECT_EQ(body.text("/type"), "/.well-known/idempotency#" + std::string(answer.code));
    EXPECT_EQ(body.text("/code"), answer.code);
    EXPECT_EQ(body.number("/status"), answer.status);
    EXPECT_EQ(body.text("/instance"), "urn:uuid:8e03978e-40d5-43e8-bc93-6894a57f9324");
    EXPECT_FALSE(body.text("/title").empty());
    EXPECT_GT(body.text("/detail").size(), 40u);
    EXPECT_EQ(body.text("/detail").find("{header}"), std::string::npos);
    EXPECT_TRUE(body.has("/retryable"));
    EXPECT_TRUE(body.has("/safe_new_key"));
    EXPECT_FALSE(body.truth("/retryable") && body.truth("/safe_new_key"))
        << answer.code << ": whoever may retry must keep the key";
  }
}

TEST(Answer, EveryStripeErrorIsWhole) {
  for (const auto answer_case : all_cases) {
    const auto answer = make_answer(answer_case, context(Profile::stripe));
    Body body(answer);
    EXPECT_EQ(header(answer, "Content-Type"), "application/json");
    EXPECT_EQ(header(answer, "Stripe-Should-Retry"),
              body.truth("/error/retryable") ? "true" : "false");
    EXPECT_FALSE(body.text("/error/message").empty());
    EXPECT_FALSE(body.text("/error/type").empty());
    EXPECT_FALSE(body.text("/error/code").empty());
  }
  Body mismatch(make_answer(AnswerCase::mismatch, context(Profile::stripe)));
  EXPECT_EQ(mismatch.text("/error/type"), "idempotency_error");
  Body in_flight(make_answer(AnswerCase::in_flight, context(Profile::stripe)));
  EXPECT_EQ(in_flight.text("/error/code"), "idempotency_key_in_use");
}

TEST(Answer, AKeyThatMayHaveRunIsNeverDeclaredFree) {
  for (const auto answer_case : {AnswerCase::in_flight, AnswerCase::outcome_unknown,
                                 AnswerCase::result_expired, AnswerCase::result_not_kept,
                                 AnswerCase::result_unreadable, AnswerCase::store_unavailable}) {
    EXPECT_FALSE(Body(make_answer(answer_case, context())).truth("/safe_new_key"));
  }
}

TEST(Answer, RetryAfterIsRoundedUpToWholeSeconds) {
  auto with_delay = context();
  const auto retry_after = [&](AnswerCase answer_case) {
    return header(make_answer(answer_case, with_delay), "Retry-After");
  };
  EXPECT_EQ(retry_after(AnswerCase::in_flight), "1") << "never without, even when nobody says";
  EXPECT_EQ(retry_after(AnswerCase::mismatch), "(none)");
  with_delay.retry_after_ms = 1001;
  EXPECT_EQ(retry_after(AnswerCase::in_flight), "2");
  EXPECT_EQ(retry_after(AnswerCase::outcome_unknown), "2");
  EXPECT_EQ(retry_after(AnswerCase::store_unavailable), "2");
  EXPECT_EQ(retry_after(AnswerCase::mismatch), "(none)");
  with_delay.retry_after_ms = 2000;
  EXPECT_EQ(retry_after(AnswerCase::in_flight), "2");
  with_delay.retry_after_ms = -5;
  EXPECT_EQ(retry_after(AnswerCase::in_flight), "1");
}

TEST(Answer, MissingKeyNamesTheHeaderToSend) {
  auto other_header = context();
  other_header.key_header = "PayPal-Request-Id";
  Body body(make_answer(AnswerCase::key_missing, other_header));
  EXPECT_NE(body.text("/detail").find("PayPal-Request-Id"), std::string::npos);
}

TEST(Answer, OwnDetailReplacesTheUsualSentence) {
  auto own = context();
  own.detail = "The key has 3 \"characters\".";
  EXPECT_EQ(Body(make_answer(AnswerCase::key_invalid, own)).text("/detail"), own.detail);
}

TEST(Answer, MissingCredentialsAskForThem) {
  EXPECT_NE(header(make_answer(AnswerCase::tenant_missing, context()), "WWW-Authenticate"),
            "(none)");
}

TEST(Answer, ReplayMarkerIsTheProfiles) {
  EXPECT_EQ(replay_marker(Profile::ietf), "Idempotency-Replayed");
  EXPECT_EQ(replay_marker(Profile::stripe), "Idempotent-Replayed");
}

TEST(Answer, TimesAreRfc3339InUtc) {
  EXPECT_EQ(format_rfc3339(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339(1'709'210'096'999), "2024-02-29T12:34:56Z");
  EXPECT_EQ(format_rfc3339(-1), "1969-12-31T23:59:59Z");
  EXPECT_EQ(format_rfc3339(INT64_MAX), "9999-12-31T23:59:59Z");
}

TEST(State, EveryStateHasItsOwnName) {
  std::set<std::string_view> names;
  for (const auto state : {State::in_progress, State::completed, State::failed_retryable,
                           State::unknown, State::expired}) {
    names.insert(to_string(state));
  }
  EXPECT_EQ(names, (std::set<std::string_view>{"in_progress", "completed", "failed_retryable",
                                               "unknown", "expired"}));
}

}  // namespace
}  // namespace oncekey
