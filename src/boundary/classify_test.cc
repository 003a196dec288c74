#include "oncekey/classify.h"

#include <gtest/gtest.h>

namespace oncekey {
namespace {

Outcome outcome(int status, On5xx on_5xx = On5xx::retry,
                std::optional<std::string_view> header = std::nullopt) {
  return classify_answer(status, header, on_5xx).outcome;
}

TEST(Classify, AnswersOfTheWorkAreKept) {
  for (const int status : {200, 201, 204, 299, 301, 303, 304, 400, 402, 404, 409, 410, 422, 499}) {
    EXPECT_EQ(outcome(status), Outcome::completed) << status;
    EXPECT_EQ(classify_answer(status, std::nullopt, On5xx::retry).reason, "") << status;
  }
}

TEST(Classify, RefusalsBeforeTheWorkMayBeRetried) {
  for (const int status : {401, 403, 408, 429}) {
    EXPECT_EQ(outcome(status), Outcome::failed_retryable) << status;
    EXPECT_EQ(outcome(status, On5xx::unknown), Outcome::failed_retryable) << status;
    EXPECT_EQ(outcome(status, On5xx::retry, "executed"), Outcome::completed) << status;
  }
}

TEST(Classify, ServerErrorsFollowThePolicy) {
  for (const int status : {500, 501, 503}) {
    EXPECT_EQ(outcome(status, On5xx::retry), Outcome::failed_retryable) << status;
    EXPECT_EQ(outcome(status, On5xx::replay), Outcome::completed) << status;
    EXPECT_EQ(outcome(status, On5xx::unknown), Outcome::unknown) << status;
  }
  for (const int status : {502, 504, 505, 520, 524, 599}) {
    EXPECT_EQ(outcome(status, On5xx::retry), Outcome::unknown) << status;
    EXPECT_EQ(outcome(status, On5xx::replay), Outcome::completed) << status;
    EXPECT_EQ(outcome(status, On5xx::unknown), Outcome::unknown) << status;
  }
}

TEST(Classify, TheUpstreamsOwnWordWins) {
  for (const auto on_5xx : {On5xx::retry, On5xx::replay, On5xx::unknown}) {
    for (const int status : {200, 404, 429, 500, 502}) {
      EXPECT_EQ(outcome(status, on_5xx, "executed"), Outcome::completed) << status;
      EXPECT_EQ(outcome(status, on_5xx, " Not-Executed "), Outcome::failed_retryable) << status;
      EXPECT_EQ(outcome(status, on_5xx, "unknown"), Outcome::unknown) << status;
      EXPECT_EQ(outcome(status, on_5xx, "maybe"), Outcome::unknown) << status;
      EXPECT_EQ(outcome(status, on_5xx, ""), Outcome::unknown) << status;
    }
  }
}

TEST(Classify, StatusThatIsNoneProvesNothing) {
  for (const int status : {0, 100, 101, 199, 600, -1}) {
    EXPECT_EQ(outcome(status, On5xx::replay), Outcome::unknown) << status;
    EXPECT_EQ(outcome(status, On5xx::retry, "not-executed"), Outcome::unknown) << status;
  }
}

TEST(Classify, SilenceIsOnlyHarmlessBeforeTheFirstByte) {
  EXPECT_EQ(classify_silence(false, "connection refused").outcome, Outcome::failed_retryable);
  EXPECT_EQ(classify_silence(true, "timed out").outcome, Outcome::unknown);
  EXPECT_EQ(classify_silence(true, "timed out").reason, "timed out");
  EXPECT_NE(classify_silence(true, "").reason, "");
}

}  // namespace
}  // namespace oncekey
