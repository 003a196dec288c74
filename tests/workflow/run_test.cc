// What one run, and its retry, come to.
#include "workflow/place.h"

namespace oncekey::test {
namespace {

using namespace std::chrono_literals;

class WorkflowRun : public WorkflowTest {
 protected:
  // intent, then a charge, then the receipt: as a payment is made.
  Workflow payment() {
    return Workflow("payment",
                    {{.name = "intent",
                      .body = [this](const PhaseBody& body) -> PhaseEnd {
                        write_effect(link_, body, "intent");
                        return Next{"charge", R"({ "order" : 17 })"};
                      }},
                     {.name = "charge",
                      .call = [this](const PhaseCall& call) { return provider_.charge(call.key); },
                      .body = [this](const PhaseBody& body) -> PhaseEnd {
                        write_effect(link_, body, "charge");
                        seen_ = body.data + " " + body.input + " " + body.result;
                        return Next{"", "\"" + body.result + "\""};
                      }},
                     {.name = "receipt", .body = [this](const PhaseBody& body) -> PhaseEnd {
                        write_effect(link_, body, "receipt");
                        body.transaction.enqueue({.destination = "mail", .payload = "paid"});
                        return Finish{created(body.data)};
                      }}});
  }

  template <class T>
  T expect(const RunOutcome& outcome) {
    const auto* value = std::get_if<T>(&outcome);
    if (value == nullptr) throw std::runtime_error("outcome " + std::to_string(outcome.index()));
    return *value;
  }

  Provider provider_;
  std::string seen_;
};

ON_BOTH_DATABASES(WorkflowRun);

TEST_P(WorkflowRun, GoesThroughAllPhasesAndTheRetryGetsTheSameAnswer) {
  Runner runner(link_.database(), payment(), quick());
  const auto first = expect<Done>(runner.run(request("k", R"({"b":1, "amount":5})")));
  EXPECT_FALSE(first.replayed);
  EXPECT_EQ(first.response->body, "\"charge-1\"");
  EXPECT_EQ(first.attempt, 1u);
  EXPECT_EQ(seen_, R"({"order":17} {"amount":5,"b":1} charge-1)");

  const auto again = expect<Done>(runner.run(request("k", R"({"b":1, "amount":5})")));
  EXPECT_TRUE(again.replayed);
  EXPECT_EQ(*again.response, *first.response);
  EXPECT_EQ(again.expires_at, first.expires_at);
  EXPECT_EQ(provider_.requests(), 1);
  for (const char* what : {"intent", "charge", "receipt"}) EXPECT_EQ(place_.effects("k", what), 1);
  EXPECT_EQ(place_.count(place_.own("outbox")), 1);
  EXPECT_EQ(place_.count(place_.own("workflows")), 0);
}

TEST_P(WorkflowRun, OtherRequestUnderTheSameKeyIsRefused) {
  Runner runner(link_.database(), payment(), quick());
  runner.run(request("k", "1"));
  EXPECT_EQ(expect<Mismatch>(runner.run(request("k", "12"))).state, State::completed);
  EXPECT_EQ(place_.effects("k", "intent"), 1);
}

TEST_P(WorkflowRun, BodyThatThrowsInTheFirstPhaseLeavesNothing) {
  bool angry = true;
  Runner runner(link_.database(),
                Workflow("w", {{.name = "only",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  write_effect(link_, body, "row");
                                  body.transaction.enqueue({.destination = "d", .payload = "p"});
                                  if (angry) throw std::runtime_error("no");
                                  return Finish{created("done")};
                                }}}),
                quick());
  EXPECT_THROW(runner.run(request("k")), std::runtime_error);
  EXPECT_FALSE(link_.database().in_transaction());
  EXPECT_EQ(place_.count("effects"), 0);
  EXPECT_EQ(place_.count(place_.own("outbox")), 0);
  EXPECT_FALSE(place_.record(request("k").id).has_value());
  angry = false;
  EXPECT_EQ(expect<Done>(runner.run(request("k"))).response->body, "done");
  EXPECT_EQ(place_.count("effects"), 1);
}

TEST_P(WorkflowRun, BodyThatThrowsLaterIsGoneOnFromByTheRetry) {
  int throws = 2;
  Workflow workflow = payment();
  auto phases = workflow.phases();
  phases[1].body = [&, body = phases[1].body](const PhaseBody& given) {
    auto end = body(given);
    if (throws-- > 0) throw std::runtime_error("full");
    return end;
  };
  Runner runner(link_.database(), Workflow("payment", phases), quick());
  EXPECT_THROW(runner.run(request("k")), std::runtime_error);
  link_.end_leases();
  EXPECT_THROW(runner.run(request("k")), std::runtime_error);
  EXPECT_EQ(place_.effects("k", "intent"), 1);
  EXPECT_EQ(place_.effects("k", "charge"), 0);
  link_.end_leases();
  const auto done = expect<Done>(runner.run(request("k")));
  EXPECT_EQ(done.attempt, 3u);
  EXPECT_EQ(provider_.charges(), 1u);
  for (const char* what : {"intent", "charge", "receipt"}) EXPECT_EQ(place_.effects("k", what), 1);
}

TEST_P(WorkflowRun, FailRollsBackAndTheRetryRunsAgain) {
  bool closed = true;
  Runner runner(link_.database(),
                Workflow("w", {{.name = "only",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  write_effect(link_, body, "row");
                                  if (closed) return Fail{"the shop is closed"};
                                  return Finish{created("open")};
                                }}}),
                quick());
  EXPECT_EQ(expect<TryAgain>(runner.run(request("k"))).error, "the shop is closed");
  EXPECT_EQ(place_.count("effects"), 0);
  const auto record = place_.record(request("k").id);
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->state, State::failed_retryable);
  EXPECT_EQ(record->last_error, "the shop is closed");
  EXPECT_TRUE(std::holds_alternative<Mismatch>(runner.run(request("k", "[\"other\"]"))));
  closed = false;
  EXPECT_EQ(expect<Done>(runner.run(request("k"))).attempt, 2u);
  EXPECT_EQ(place_.count("effects"), 1);
}

TEST_P(WorkflowRun, FailInALaterPhaseIsGoneOnFrom) {
  bool closed = true;
  Runner runner(link_.database(),
                Workflow("w", {{.name = "first",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  write_effect(link_, body, "first");
                                  return Next{};
                                }},
                               {.name = "second",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  write_effect(link_, body, "second");
                                  if (closed) return Fail{"closed"};
                                  return Finish{created("open")};
                                }}}),
                quick());
  EXPECT_EQ(expect<TryAgain>(runner.run(request("k"))).error, "closed");
  EXPECT_EQ(place_.effects("k", "second"), 0);
  closed = false;
  link_.end_leases();
  EXPECT_EQ(runner.complete_stalled().completed, 1u);
  EXPECT_TRUE(expect<Done>(runner.run(request("k"))).replayed);
  EXPECT_EQ(place_.effects("k", "first"), 1);
  EXPECT_EQ(place_.effects("k", "second"), 1);
}

TEST_P(WorkflowRun, UnknownKeepsWhatTheBodyWroteAndNeverRunsAgain) {
  Runner runner(link_.database(),
                Workflow("w", {{.name = "only",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  write_effect(link_, body, "pending");
                                  return Unknown{"no idea", 5s};
                                }}}),
                quick());
  const auto first = expect<OutcomeUnknown>(runner.run(request("k")));
  EXPECT_EQ(first.reconcile_after - first.decided_at, 5000);
  EXPECT_EQ(expect<OutcomeUnknown>(runner.run(request("k"))).reconcile_after,
            first.reconcile_after);
  link_.end_leases();
  EXPECT_EQ(runner.complete_stalled().found, 0u);
  EXPECT_EQ(place_.effects("k", "pending"), 1);
}

TEST_P(WorkflowRun, CallThatWasNotSentIsTriedAgainThenFails) {
  int calls = 0;
  int sent_from = 3;
  Runner runner(link_.database(),
                Workflow("w", {{.name = "only",
                                .call = [&](const PhaseCall&) -> std::string {
                                  if (++calls < sent_from) {
                                    throw CallFailed(CallFailed::Kind::not_sent, "refused");
                                  }
                                  return "yes";
                                },
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  return Finish{created(body.result)};
                                }}}),
                quick());
  EXPECT_EQ(expect<Done>(runner.run(request("a"))).response->body, "yes");
  EXPECT_EQ(calls, 3);
  calls = 0;
  sent_from = 5;
  EXPECT_NE(expect<TryAgain>(runner.run(request("b"))).error.find("refused"), std::string::npos);
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(place_.record(request("b").id)->state, State::failed_retryable);
  EXPECT_EQ(expect<Done>(runner.run(request("b"))).attempt, 2u);
  EXPECT_EQ(calls, 5);
}

TEST_P(WorkflowRun, CallWithoutAnAnswerIsMadeAgainUnderTheSameKey) {
  int cut = 1;
  Workflow workflow = payment();
  auto phases = workflow.phases();
  phases[1].call = [&](const PhaseCall& call) {
    const std::string charge = provider_.charge(call.key);
    if (cut-- > 0) throw std::runtime_error("the connection was reset");
    return charge;
  };
  Runner runner(link_.database(), Workflow("payment", phases), quick());
  EXPECT_EQ(expect<Done>(runner.run(request("a"))).response->body, "\"charge-1\"");
  EXPECT_EQ(provider_.requests(), 2);
  EXPECT_EQ(provider_.charges(), 1u);

  cut = 4;  // longer than one run tries
  EXPECT_NE(expect<TryAgain>(runner.run(request("b"))).error.find("was reset"), std::string::npos);
  EXPECT_EQ(place_.record(request("b").id)->state, State::in_progress);
  link_.end_leases();
  EXPECT_EQ(expect<Done>(runner.run(request("b"))).response->body, "\"charge-2\"");
  EXPECT_EQ(provider_.charges(), 2u);
}

TEST_P(WorkflowRun, CallThatMayNotBeRepeatedBecomesUnknownWithoutAnAnswer) {
  int calls = 0;
  Runner runner(
      link_.database(),
      Workflow("w", {{.name = "only",
                      .call = [&](const PhaseCall&) -> std::string {
                        ++calls;
                        throw CallFailed(CallFailed::Kind::no_answer, "silence");
                      },
                      .idempotent_call = false,
                      .body = [&](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }}}),
      quick());
  expect<OutcomeUnknown>(runner.run(request("k")));
  expect<OutcomeUnknown>(runner.run(request("k")));
  EXPECT_EQ(calls, 1);
  EXPECT_NE(place_.record(request("k").id)->last_error.find("silence"), std::string::npos);
}

TEST_P(WorkflowRun, BodyThatThrowsAfterACallThatMayNotBeRepeatedIsUnknown) {
  int calls = 0;
  Runner runner(
      link_.database(),
      Workflow("w",
               {{.name = "only",
                 .call =
                     [&](const PhaseCall&) {
                       ++calls;
                       return std::string();
                     },
                 .idempotent_call = false,
                 .body = [&](const PhaseBody&) -> PhaseEnd { throw std::runtime_error("bug"); }}}),
      quick());
  EXPECT_THROW(runner.run(request("k")), std::runtime_error);
  expect<OutcomeUnknown>(runner.run(request("k")));
  EXPECT_EQ(calls, 1);
}

TEST_P(WorkflowRun, TransactionIsDoneAgainWhenTheDatabaseSaysSoAndTheCallIsNot) {
  int busy = 2;
  Workflow workflow = payment();
  auto phases = workflow.phases();
  for (std::size_t i = 0; i < 2; ++i) {
    phases[i].body = [&, body = phases[i].body](const PhaseBody& given) {
      auto end = body(given);
      if (busy-- > 0) throw DatabaseError(DatabaseError::Kind::again, "deadlock");
      if (given.data == "null") busy = 2;
      return end;
    };
  }
  Runner runner(link_.database(), Workflow("payment", phases), quick());
  expect<Done>(runner.run(request("k")));
  EXPECT_EQ(provider_.requests(), 1);
  for (const char* what : {"intent", "charge", "receipt"}) EXPECT_EQ(place_.effects("k", what), 1);
}

TEST_P(WorkflowRun, JsonComesBackAsItWasWhateverTheDatabaseMadeOfIt) {
  const std::string data =
      R"({"a":[1,1.5,1e+30,0.000001,123456789012345678901234567890],"b":"\u0001\"é€","c":null})";
  bool stop = true;
  std::vector<std::string> seen;
  Runner runner(link_.database(),
                Workflow("w", {{.name = "first",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  seen.push_back(body.input);
                                  return Next{"second", data};
                                }},
                               {.name = "second",
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  seen.push_back(body.input);
                                  seen.push_back(body.data);
                                  if (stop) throw std::runtime_error("stop");
                                  return Finish{created("")};
                                }}}),
                quick());
  EXPECT_THROW(runner.run(request("k", data)), std::runtime_error);
  stop = false;
  link_.end_leases();
  expect<Done>(runner.run(request("k", data)));
  ASSERT_EQ(seen.size(), 5u);
  for (const std::string& text : seen) EXPECT_EQ(text, seen[0]);
}

}  // namespace
}  // namespace oncekey::test
