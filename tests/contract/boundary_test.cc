// The sequence of include/oncekey/boundary.h, as a library user would write it.
#include "oncekey/boundary.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "store/open.h"

namespace oncekey {
namespace {

constexpr TimestampMs now = 1'700'000'000'000;

// A service that charges, and what an endpoint before it does with one request.
class Charging : public ::testing::Test {
 protected:
  template <class Op>
  decltype(Op::outcome) apply(Op op) {
    Operation operation = std::move(op);
    Operation* const batch[] = {&operation};
    engine_->apply(batch, now);
    return std::get<Op>(operation).outcome;
  }

  // The status a client would get.
  int post(std::string_view key_line, std::string_view body, bool service_answers = true) {
    const std::vector<std::string_view> lines = {key_line};
    const auto key = parse_key(lines, KeyPolicy());
    if (!key) return 400;

    Reserve reserve;
    reserve.id = {"tenant", key->value};
    reserve.fingerprint =
        fingerprinter_.compute({"tenant", "POST", "/charges", "application/json", body}, {});
    reserve.lease_ms = 60'000;
    reserve.retention_ms = 86'400'000;
    const ReserveOutcome reserved = apply(std::move(reserve));
    if (const auto* replay = std::get_if<Replay>(&reserved)) return replay->response->status;
    if (std::holds_alternative<Mismatch>(reserved)) return 422;
    const auto* hold = std::get_if<Execute>(&reserved);
    if (hold == nullptr) return 409;

    ++charges_;
    Classification proved = classify_silence(true, "the connection was cut");
    if (service_answers) proved = classify_answer(201, {}, On5xx::retry);

    Settle settle;
    settle.id = {"tenant", key->value};
    settle.fence = hold->fence;
    settle.verdict = SettleUnknown{proved.reason, 1'000};
    if (proved.outcome == Outcome::completed) {
      auto response = std::make_shared<StoredResponse>();
      response->status = 201;
      settle.verdict = SettleCompleted{response};
    }
    const SettleOutcome settled = apply(std::move(settle));
    EXPECT_TRUE(std::holds_alternative<Settled>(settled));
    return service_answers ? 201 : 502;
  }

  void SetUp() override {
    auto opened = store::open_store({}, {.clock = [] { return now; }});
    ASSERT_TRUE(opened.ok());
    engine_ = std::move(opened->lanes[0]);
  }

  std::unique_ptr<Engine> engine_;
  Fingerprinter fingerprinter_{"a secret of the deployment"};
  int charges_ = 0;
};

TEST_F(Charging, RetryGetsTheFirstAnswerAndChargesOnce) {
  EXPECT_EQ(post("5f0c7a52-0b1d-4c11", R"({"amount":350})"), 201);
  EXPECT_EQ(post("\"5f0c7a52-0b1d-4c11\"", R"({ "amount": 350 })"), 201);
  EXPECT_EQ(charges_, 1);
}

TEST_F(Charging, OtherAmountUnderTheSameKeyIsRefused) {
  EXPECT_EQ(post("5f0c7a52-0b1d-4c11", R"({"amount":350})"), 201);
  EXPECT_EQ(post("5f0c7a52-0b1d-4c11", R"({"amount":351})"), 422);
  EXPECT_EQ(charges_, 1);
}

TEST_F(Charging, UncertainChargeIsNeverMadeAgain) {
  EXPECT_EQ(post("5f0c7a52-0b1d-4c11", R"({"amount":350})", false), 502);
  EXPECT_EQ(post("5f0c7a52-0b1d-4c11", R"({"amount":350})"), 409);
  EXPECT_EQ(charges_, 1);
}

TEST_F(Charging, RequestWithoutAUsableKeyIsNotReserved) {
  EXPECT_EQ(post("", R"({"amount":350})"), 400);
  EXPECT_EQ(charges_, 0);
}

}  // namespace
}  // namespace oncekey
