// Wrong use is found early, said clearly, and does no damage.
#include <algorithm>
#include <chrono>
#include <limits>

#include "workflow/place.h"

namespace oncekey::test {
namespace {

using namespace std::chrono_literals;

class WorkflowMisuse : public WorkflowTest {
 protected:
  using Body = std::function<PhaseEnd(const PhaseBody&)>;

  std::string complaint(const std::function<void()>& use) {
    try {
      use();
      return "none";
    } catch (const Misuse& misuse) {
      return misuse.what();
    }
  }
  std::string complaint_about(Body body) {
    Runner runner(link_.database(), Workflow("w", {{.name = "only", .body = std::move(body)}}),
                  quick());
    return complaint([&] { runner.run(request("k")); });
  }
  void says(const std::string& message, const std::string& part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  }
};

ON_BOTH_DATABASES(WorkflowMisuse);

TEST_P(WorkflowMisuse, LeaseShorterThanACallIsFoundBeforeAnythingRuns) {
  auto options = quick();
  options.lease = 10s;
  const Phase phase{.name = "call",
                    .call = [](const PhaseCall&) { return std::string(); },
                    .call_timeout = 10s,
                    .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }};
  says(complaint([&] { Runner(link_.database(), Workflow("w", {phase}), options); }),
       "Make the lease at least 10100 ms");
  options = quick();
  options.call_attempts_max = 0;
  says(complaint([&] { Runner(link_.database(), Workflow("w", {phase}), options); }),
       "attempts is at least 1");
}

// Added to the clock they would be over before they began, and every retry would execute.
TEST_P(WorkflowMisuse, TimesBeyondTheirLimitsAreFoundBeforeAnythingRuns) {
  const Phase phase{.name = "only",
                    .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }};
  const auto refuses = [&](std::chrono::milliseconds RunnerOptions::*time,
                           std::chrono::milliseconds most, const std::string& message) {
    for (const auto beyond : {most + 1ms, std::chrono::milliseconds::max()}) {
      auto options = quick();
      options.*time = beyond;
      says(complaint([&] { Runner(link_.database(), Workflow("w", {phase}), options); }), message);
    }
    auto options = quick();
    options.*time = most;
    EXPECT_EQ(complaint([&] { Runner(link_.database(), Workflow("w", {phase}), options); }),
              "none");
  };
  refuses(&RunnerOptions::lease, 24h, "at most 86400000 ms (1 day)");
  refuses(&RunnerOptions::retention, 24h * 3650, "at most 315360000000 ms (3650 days)");
  refuses(&RunnerOptions::tombstone, 24h * 3650, "at most 315360000000 ms (3650 days)");
  refuses(&RunnerOptions::call_pause, 24h, "at most 86400000 ms (1 day)");
  refuses(&RunnerOptions::retry_pause, 1350s, "at most 1350000 ms (22.5 minutes)");
}

TEST_P(WorkflowMisuse, CallLongerThanAnyLeaseIsFoundBeforeAnythingRuns) {
  const Phase phase{.name = "call",
                    .call = [](const PhaseCall&) { return std::string(); },
                    .call_timeout = std::chrono::milliseconds::max(),
                    .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }};
  says(complaint([&] { Runner(link_.database(), Workflow("w", {phase}), quick()); }),
       "Make its call_timeout at most 86399900 ms");
}

// What is handed back has the pause as its lease, however often it was doubled.
TEST_P(WorkflowMisuse, LongestPauseIsNeverLongerThanTheLongestLease) {
  auto options = quick();
  options.retry_pause = 1350s;
  options.call_attempts_max = 1;
  Runner runner(
      link_.database(),
      Workflow("w", {{.name = "only",
                      .call = [](const PhaseCall&) -> std::string {
                        throw CallFailed(CallFailed::Kind::no_answer, "lost");
                      },
                      .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }}}),
      options);
  std::chrono::milliseconds longest{0};
  for (int attempt = 1; attempt <= 8; ++attempt) {
    const auto outcome = runner.run(request("k"));
    ASSERT_TRUE(std::holds_alternative<TryAgain>(outcome)) << attempt << ": " << outcome.index();
    longest = std::max(longest, std::get<TryAgain>(outcome).retry_in);
    link_.end_leases();
  }
  EXPECT_EQ(longest.count(), lease_ms_max);
}

TEST_P(WorkflowMisuse, ReservationBeyondTheLimitsOfTimeIsRefused) {
  link_.database().begin();
  Transaction& transaction = link_.database().transaction();
  const auto refuses = [&](DurationMs Reserve::*time, DurationMs most, const std::string& message) {
    Reserve reserve;
    reserve.id = request("k").id;
    reserve.fingerprint = request("k").fingerprint;
    reserve.lease_ms = 1000;
    reserve.retention_ms = 1000;
    for (const DurationMs beyond : {most + 1, std::numeric_limits<DurationMs>::max()}) {
      reserve.*time = beyond;
      says(complaint([&] { transaction.reserve(reserve); }), message);
      says(complaint([&] { transaction.reserve_all({&reserve, 1}); }), message);
    }
  };
  refuses(&Reserve::lease_ms, lease_ms_max, "the lease is");
  refuses(&Reserve::retention_ms, retention_ms_max, "the retention is");
  refuses(&Reserve::tombstone_ms, retention_ms_max, "the tombstone's time is");
  link_.database().commit();
  EXPECT_FALSE(place_.record(request("k").id).has_value());
}

TEST_P(WorkflowMisuse, BodyThatCommitsByItselfIsNeverRunAgain) {
  int runs = 0;
  const auto body = [&](const PhaseBody& given) -> PhaseEnd {
    ++runs;
    write_effect(link_, given, "row");
    link_.execute("COMMIT");
    return Finish{created("")};
  };
  says(complaint_about(body), "committed or rolled back by itself");
  Runner runner(link_.database(), Workflow("w", {{.name = "only", .body = body}}), quick());
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(runner.run(request("k"))));
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(place_.effects("k", "row"), 1);
}

TEST_P(WorkflowMisuse, BodyThatCommitsByItselfInALaterPhaseIsNeverRunAgain) {
  int runs = 0;
  Runner runner(
      link_.database(),
      Workflow("w", {{.name = "first", .body = [](const PhaseBody&) -> PhaseEnd { return Next{}; }},
                     {.name = "second",
                      .body = [&](const PhaseBody& given) -> PhaseEnd {
                        ++runs;
                        write_effect(link_, given, "row");
                        link_.execute("COMMIT");
                        return Finish{created("")};
                      }}}),
      quick());
  says(complaint([&] { runner.run(request("k")); }), "phase \"second\"");
  link_.end_leases();
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(runner.run(request("k"))));
  EXPECT_EQ(runs, 1);
}

TEST_P(WorkflowMisuse, NextThatMayNotFollowIsRolledBack) {
  const auto next = [&](Next to) {
    return [this, to](const PhaseBody& given) -> PhaseEnd {
      write_effect(link_, given, "row");
      return to;
    };
  };
  says(complaint_about(next({"nowhere", ""})), "Next{\"nowhere\"} may not follow it");
  says(complaint_about(next({"", ""})), "no phase to go to");
  says(complaint_about([](const PhaseBody&) -> PhaseEnd { return Finish{}; }), "the status 0");
  EXPECT_EQ(place_.count("effects"), 0);
}

TEST_P(WorkflowMisuse, InputAndDataThatAreNoJsonAreRefused) {
  Runner runner(
      link_.database(),
      Workflow("w", {{.name = "first",
                      .body = [](const PhaseBody&) -> PhaseEnd {
                        return Next{"second", "{'a'}"};
                      }},
                     {.name = "second",
                      .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }}}),
      quick());
  says(complaint([&] { runner.run(request("k", "a=1")); }), "the input is not JSON");
  says(complaint([&] { runner.run(request("k")); }), "leaves for \"second\" is not JSON");
  EXPECT_FALSE(place_.record(request("k").id).has_value());
}

TEST_P(WorkflowMisuse, FailAfterACallIsRefusedAndTheRecordCanGoOn) {
  bool fails = true;
  Runner runner(link_.database(),
                Workflow("w", {{.name = "charge",
                                .call = [](const PhaseCall&) { return std::string("paid"); },
                                .body = [&](const PhaseBody& body) -> PhaseEnd {
                                  if (fails) return Fail{"out of stock"};
                                  return Finish{created(body.result)};
                                }}}),
                quick());
  says(complaint([&] { runner.run(request("k")); }), "Fail says that nothing was executed");
  EXPECT_EQ(place_.record(request("k").id)->state, State::in_progress);
  fails = false;
  link_.end_leases();
  EXPECT_TRUE(std::holds_alternative<Done>(runner.run(request("k"))));
}

TEST_P(WorkflowMisuse, RunInsideATransactionIsRefused) {
  const Workflow inner(
      "inner",
      {{.name = "only", .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }}});
  Runner runner(link_.database(), inner, quick());
  says(complaint_about([&](const PhaseBody&) -> PhaseEnd {
         runner.run(request("other"));
         return Finish{created("")};
       }),
       "a transaction is open");
  link_.database().begin();
  link_.execute("INSERT INTO effects VALUES ('mine', 'kept')");
  says(complaint([&] { runner.run(request("k")); }), "a transaction is open");
  says(complaint([&] { runner.complete_stalled(); }), "a transaction is open");
  link_.database().commit();
  EXPECT_EQ(place_.effects("mine", "kept"), 1);
}

TEST_P(WorkflowMisuse, RunFromAPhaseOfTheSameRunnerIsRefused) {
  Runner* self = nullptr;
  Runner runner(
      link_.database(),
      Workflow("w", {{.name = "only",
                      .call =
                          [&](const PhaseCall&) {
                            self->run(request("other"));
                            return std::string();
                          },
                      .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }}}),
      quick());
  self = &runner;
  says(complaint([&] { runner.run(request("k")); }), "from one of its own phases");
}

TEST_P(WorkflowMisuse, CallThatLeavesATransactionOpenIsRefused) {
  Runner runner(
      link_.database(),
      Workflow("w", {{.name = "only",
                      .call =
                          [&](const PhaseCall&) {
                            link_.execute("BEGIN");
                            link_.execute("INSERT INTO effects VALUES ('x', 'y')");
                            return std::string();
                          },
                      .body = [](const PhaseBody&) -> PhaseEnd { return Finish{created("")}; }}}),
      quick());
  says(complaint([&] { runner.run(request("k")); }), "left a transaction open");
  EXPECT_FALSE(link_.database().in_transaction());
  EXPECT_EQ(place_.count("effects"), 0);
}

}  // namespace
}  // namespace oncekey::test
