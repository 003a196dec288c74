#include "recovery/probe.h"

#include <gtest/gtest.h>

#include "boundary/response_codec.h"

namespace oncekey::recovery {
namespace {

ProbeAnswer answer(int status, std::string body = "{}") {
  ProbeAnswer answer;
  answer.status = status;
  answer.headers = {{"Content-Type", "application/json"}, {"Set-Cookie", "a=b"}};
  answer.body = std::move(body);
  return answer;
}

// As the example's provider answers a look-up by key.
ProbeRules charge_rules() {
  ProbeRules rules;
  rules.state = "/status";
  rules.executed_states = {"succeeded"};
  rules.declined_states = {"declined"};
  rules.answer.status = 201;
  rules.answer.replay_headers = {"content-type", "set-cookie"};
  return rules;
}

std::string reason(const Finding& finding) {
  const auto* not_sure = std::get_if<NotSure>(&finding);
  return not_sure ? not_sure->reason : "";
}

StoredResponse kept(const Finding& finding) {
  return *std::get<FoundExecuted>(finding).response;
}

TEST(Probe, StatusAloneDecidesWhereNothingElseIsConfigured) {
  ProbeRules rules;
  EXPECT_EQ(kept(judge(rules, answer(200, "{\"id\":1}"))).status, 200);
  EXPECT_EQ(kept(judge(rules, answer(200, "not JSON"))).body, "not JSON");
  EXPECT_TRUE(std::holds_alternative<FoundAbsent>(judge(rules, answer(404))));
  for (const int other : {201, 301, 400, 401, 403, 409, 410, 429, 500, 502, 503, 504}) {
    EXPECT_NE(reason(judge(rules, answer(other))), "") << other;
  }
}

TEST(Probe, SilenceAndCutAnswersProveNothing) {
  ProbeAnswer silence;
  silence.error = "connection refused";
  EXPECT_EQ(reason(judge(ProbeRules{}, silence)), "no answer: connection refused");
  ProbeAnswer cut = answer(404);
  cut.body_cut = true;
  EXPECT_NE(reason(judge(ProbeRules{}, cut)), "");
}

TEST(Probe, StateSaysWhatBecameOfIt) {
  const ProbeRules rules = charge_rules();
  const StoredResponse charged = kept(judge(rules, answer(200, R"({"status":"succeeded"})")));
  EXPECT_EQ(charged.status, 201);
  EXPECT_EQ(charged.body, R"({"status":"succeeded"})");
  EXPECT_EQ(charged.headers, (std::vector<Header>{{"Content-Type", "application/json"}}));
  EXPECT_EQ(reason(judge(rules, answer(200, R"({"status":"pending"})"))), "it is \"pending\"");
  EXPECT_NE(reason(judge(rules, answer(200, R"({"state":"succeeded"})"))), "");
  EXPECT_NE(reason(judge(rules, answer(200, "{"))), "");
}

TEST(Probe, DeclinedIsDoneAndKeepsItsOwnAnswer) {
  ProbeRules rules = charge_rules();
  rules.answer.declined_body = R"({"error":"declined","charge":{/id},"note":{/absent}})";
  const Finding finding = judge(rules, answer(200, R"({"id":"ch_1","status":"declined"})"));
  EXPECT_EQ(kept(finding).status, 402);
  EXPECT_EQ(kept(finding).body, R"({"error":"declined","charge":"ch_1","note":null})");
}

TEST(Probe, ListThatIsEmptyMeansAbsent) {
  ProbeRules rules = charge_rules();
  rules.found = "/data/0";
  rules.state = "/data/0/status";
  rules.answer.body_pointer = "/data/0";
  EXPECT_TRUE(std::holds_alternative<FoundAbsent>(judge(rules, answer(200, R"({"data":[]})"))));
  EXPECT_EQ(kept(judge(rules, answer(200, R"({"data":[{"status":"succeeded"}]})"))).body,
            R"({"status":"succeeded"})");
  EXPECT_NE(reason(judge(rules, answer(200, "<html>"))), "") << "no JSON is no proof of absence";
}

TEST(Probe, OutcomeThatIsStatedGoesFirst) {
  const auto stated = [](int status, std::string outcome) {
    ProbeAnswer said = answer(status);
    said.headers.push_back({"Idempotency-Outcome", std::move(outcome)});
    return judge(ProbeRules{}, said);
  };
  EXPECT_TRUE(std::holds_alternative<FoundAbsent>(stated(200, "not-executed")));
  EXPECT_TRUE(std::holds_alternative<FoundExecuted>(stated(404, "executed")));
  EXPECT_NE(reason(stated(404, "unknown")), "");
  EXPECT_NE(reason(stated(200, "perhaps")), "");
  // Said of the probe itself, which an overloaded service has turned away.
  EXPECT_EQ(reason(stated(503, "not-executed")), "the answer was 503");
  EXPECT_EQ(reason(stated(503, "executed")), "the answer was 503");
  ProbeAnswer both = answer(200);
  both.headers = {{"Idempotency-Outcome", "not-executed"}, {"idempotency-outcome", "executed"}};
  EXPECT_NE(reason(judge(ProbeRules{}, both)), "");
}

}  // namespace
}  // namespace oncekey::recovery
