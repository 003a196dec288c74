// What happens when an owner is taken for dead: by a retry, by the completer, and to itself.
#include <thread>

#include "oncekey/role.h"
#include "support/waiting.h"
#include "workflow/place.h"

namespace oncekey::test {
namespace {

using namespace std::chrono_literals;

class WorkflowTakeover : public WorkflowTest {
 protected:
  // Two phases; what is in `meanwhile` happens in the body of the second, the first time.
  Workflow two(Link& link, std::function<void()> meanwhile = nullptr) {
    auto once = std::make_shared<std::function<void()>>(std::move(meanwhile));
    return Workflow("w", {{.name = "first",
                           .body = [&link](const PhaseBody& body) -> PhaseEnd {
                             write_effect(link, body, "first");
                             return Next{"second", "\"" + body.key + "\""};
                           }},
                          {.name = "second",
                           .call =
                               [this, once](const PhaseCall& call) {
                                 if (auto now = std::exchange(*once, nullptr)) now();
                                 return provider_.charge(call.key);
                               },
                           .body = [&link](const PhaseBody& body) -> PhaseEnd {
                             write_effect(link, body, "second");
                             return Finish{created(body.result)};
                           }}});
  }

  // A run that ends after its first phase, as if its process had died there.
  void die_after_first_phase(const std::string& key) {
    Workflow workflow = two(link_);
    auto phases = workflow.phases();
    phases[1].call = [](const PhaseCall&) -> std::string { throw Misuse("dies here"); };
    Runner runner(link_.database(), Workflow("w", phases), quick());
    EXPECT_THROW(runner.run(request(key)), Misuse);
  }

  Provider provider_;
};

ON_BOTH_DATABASES(WorkflowTakeover);

TEST_P(WorkflowTakeover, StaleOwnerIsRefusedAndItsTransactionRolledBack) {
  const auto other = place_.another_link();
  const auto third = place_.another_link();
  RunOutcome overtaker;
  // While the first owner waits for the provider, its lease ends and a retry does all of the rest.
  const auto overtake = [&] {
    third->end_leases();
    Runner runner(other->database(), two(*other), quick());
    overtaker = runner.run(request("k"));
  };
  Runner runner(link_.database(), two(link_, overtake), quick());
  const auto outcome = runner.run(request("k"));
  ASSERT_TRUE(std::holds_alternative<Done>(overtaker));
  EXPECT_FALSE(std::get<Done>(overtaker).replayed);
  EXPECT_EQ(std::get<Done>(overtaker).attempt, 2u);
  ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << outcome.index();
  EXPECT_TRUE(std::get<Done>(outcome).replayed);
  EXPECT_EQ(*std::get<Done>(outcome).response, *std::get<Done>(overtaker).response);
  EXPECT_EQ(place_.effects("k", "first"), 1);
  EXPECT_EQ(place_.effects("k", "second"), 1);
  EXPECT_EQ(provider_.charges(), 1u);
}

TEST_P(WorkflowTakeover, RetryDuringALeaseIsInFlightAndAfterItGoesOn) {
  const auto other = place_.another_link();
  std::vector<std::size_t> outcomes;
  const auto retry = [&] {
    Runner runner(other->database(), two(*other), quick());
    outcomes.push_back(runner.run(request("k")).index());
  };
  Runner runner(link_.database(), two(link_, retry), quick());
  EXPECT_TRUE(std::holds_alternative<Done>(runner.run(request("k"))));
  EXPECT_EQ(outcomes, std::vector<std::size_t>{RunOutcome(InFlight{}).index()});
}

TEST_P(WorkflowTakeover, CompleterGoesOnWithWhatDeadOwnersLeft) {
  for (const char* key : {"a", "b", "c"}) die_after_first_phase(key);
  Runner completer(link_.database(), two(link_), quick());
  link_.end_leases();
  const auto some = completer.complete_stalled(2);
  EXPECT_EQ(some.found, 2u);
  EXPECT_EQ(some.completed, 2u);
  EXPECT_TRUE(some.more);
  const auto rest = completer.complete_stalled(2);
  EXPECT_EQ(rest.completed, 1u);
  EXPECT_FALSE(rest.more);
  EXPECT_EQ(completer.complete_stalled(2).found, 0u);
  EXPECT_EQ(provider_.charges(), 3u);
  for (const char* key : {"a", "b", "c"}) {
    EXPECT_TRUE(std::get<Done>(completer.run(request(key))).replayed);
    EXPECT_EQ(place_.effects(key, "first"), 1);
    EXPECT_EQ(place_.effects(key, "second"), 1);
  }
}

TEST_P(WorkflowTakeover, CompleterWorksInTheBackground) {
  die_after_first_phase("k");
  link_.end_leases();
  const auto own = place_.another_link();
  Runner runner(own->database(), two(*own), quick());
  const Role completer(std::chrono::milliseconds(5),
                       [&] { return runner.complete_stalled().more; });
  EXPECT_TRUE(eventually([&] { return place_.effects("k", "second") == 1; }));
}

TEST_P(WorkflowTakeover, CompleterLeavesOtherWorkflowsAlone) {
  die_after_first_phase("k");
  link_.end_leases();
  Runner other(link_.database(), Workflow("other", two(link_).phases()), quick());
  EXPECT_EQ(other.complete_stalled().found, 0u);
}

TEST_P(WorkflowTakeover, RecoveryPointThatNoLongerExistsIsSaidAndLeftAsItIs) {
  die_after_first_phase("old");
  link_.end_leases();
  auto phases = two(link_).phases();
  phases[1].name = "renamed";
  phases[0].body = [this](const PhaseBody& body) -> PhaseEnd {
    write_effect(link_, body, "first");
    return Next{};
  };
  phases[1].call = nullptr;
  Runner deployed(link_.database(), Workflow("w", phases), quick());
  const auto before = place_.record(request("old").id);
  try {
    deployed.run(request("old"));
    FAIL() << "the recovery point was not missed";
  } catch (const Misuse& misuse) {
    EXPECT_NE(std::string(misuse.what()).find("recovery point \"second\""), std::string::npos)
        << misuse.what();
  }
  const auto stuck = deployed.complete_stalled(1);
  EXPECT_EQ(stuck.stuck, 1u);
  EXPECT_NE(stuck.error.find("\"second\""), std::string::npos);
  const auto after = place_.record(request("old").id);
  EXPECT_EQ(after->fence, before->fence);
  EXPECT_EQ(after->attempt, before->attempt);
  EXPECT_EQ(after->recovery_point, "second");

  // It does not hold up the others.
  deployed.run(request("new"));
  die_after_first_phase("third");
  link_.end_leases();
  EXPECT_EQ(deployed.complete_stalled(1).found, 1u);
  // And goes on as soon as the phase is back.
  Runner rolled_back(link_.database(), two(link_), quick());
  EXPECT_TRUE(std::holds_alternative<Done>(rolled_back.run(request("old"))));
  EXPECT_EQ(place_.effects("old", "first"), 1);
}

TEST_P(WorkflowTakeover, CallThatMayNotBeRepeatedIsUnknownAfterItsOwnerDied) {
  auto phases = two(link_).phases();
  phases[1].idempotent_call = false;
  die_after_first_phase("k");
  link_.end_leases();
  Runner runner(link_.database(), Workflow("w", phases), quick());
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(runner.run(request("k"))));
  EXPECT_EQ(provider_.requests(), 0);
  EXPECT_EQ(place_.effects("k", "second"), 0);
}

TEST_P(WorkflowTakeover, OperatorsNotExecutedLetsItGoOnFromItsRecoveryPoint) {
  auto phases = two(link_).phases();
  phases[1].idempotent_call = false;
  die_after_first_phase("k");
  link_.end_leases();
  Runner runner(link_.database(), Workflow("w", phases), quick());
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(runner.run(request("k"))));
  link_.database().begin();
  Resolve resolve;
  resolve.id = request("k").id;
  resolve.verdict = SettleFailed{"the provider has no such charge"};
  EXPECT_TRUE(std::holds_alternative<Settled>(link_.database().transaction().resolve(resolve)));
  link_.database().commit();
  EXPECT_TRUE(std::holds_alternative<Done>(runner.run(request("k"))));
  EXPECT_EQ(provider_.requests(), 1);
  EXPECT_EQ(place_.effects("k", "first"), 1);
  EXPECT_EQ(place_.effects("k", "second"), 1);
}

TEST_P(WorkflowTakeover, WorkflowThatAlwaysDiesIsGivenUpAsUnknown) {
  auto options = quick();
  options.attempts_max = 3;
  auto phases = two(link_).phases();
  phases[1].body = [](const PhaseBody&) -> PhaseEnd { throw std::runtime_error("bug"); };
  Runner runner(link_.database(), Workflow("w", phases), options);
  EXPECT_THROW(runner.run(request("k")), std::runtime_error);
  for (int i = 0; i < 2; ++i) {
    link_.end_leases();
    EXPECT_EQ(runner.complete_stalled().stuck, 1u);
  }
  link_.end_leases();
  EXPECT_EQ(runner.complete_stalled().unknown, 1u);
  EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(runner.run(request("k"))));
  const auto record = place_.record(request("k").id);
  EXPECT_NE(record->last_error.find("given up after 3"), std::string::npos) << record->last_error;
}

TEST_P(WorkflowTakeover, LeaseIsRenewedBeforeACallThatWouldOutlastIt) {
  TimestampMs first = 0;
  TimestampMs second = 0;
  auto options = quick();
  options.lease = 400ms;
  auto phases = two(link_).phases();
  const auto other = place_.another_link();
  const auto locked_until = [&] {
    other->database().begin();
    const auto record = other->database().transaction().find(request("k").id);
    other->database().rollback();
    return record->locked_until;
  };
  phases[1].call_timeout = 300ms;
  phases[1].call = [&](const PhaseCall&) -> std::string {
    if (first == 0) {
      first = locked_until();
      let_time_pass(100ms);  // the call takes its time, and fails
      throw CallFailed(CallFailed::Kind::no_answer, "slow");
    }
    second = locked_until();
    return "yes";
  };
  Runner runner(link_.database(), Workflow("w", phases), options);
  EXPECT_TRUE(std::holds_alternative<Done>(runner.run(request("k"))));
  EXPECT_GE(second, first + 100);
}

TEST_P(WorkflowTakeover, OneKeyFromSeveralThreadsIsDoneOnce) {
  constexpr int threads_count = 6;
  constexpr int keys = 5;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::map<std::string, std::set<std::string>> answers;
  std::atomic<int> fresh = 0;
  for (int i = 0; i < threads_count; ++i) {
    threads.emplace_back([&] {
      const auto own = place_.another_link();
      Runner runner(own->database(), two(*own), quick());
      for (int k = 0; k < keys; ++k) {
        const std::string key = "k" + std::to_string(k);
        for (;;) {
          const auto outcome = runner.run(request(key));
          const auto* done = std::get_if<Done>(&outcome);
          if (done == nullptr) continue;  // in flight
          fresh += done->replayed ? 0 : 1;
          const std::lock_guard lock(mutex);
          answers[key].insert(done->response->body);
          break;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(fresh, keys);
  EXPECT_EQ(provider_.charges(), static_cast<std::size_t>(keys));
  EXPECT_EQ(provider_.requests(), keys);
  for (const auto& [key, different] : answers) {
    EXPECT_EQ(different.size(), 1u) << key;
    EXPECT_EQ(place_.effects(key, "first"), 1) << key;
    EXPECT_EQ(place_.effects(key, "second"), 1) << key;
  }
}

}  // namespace
}  // namespace oncekey::test
