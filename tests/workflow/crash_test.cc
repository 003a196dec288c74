// SPEC Q8, Q17, R2: a process is killed at every step of every phase; what it left is gone on with
// by a retry or by the completer. Which steps there are comes from the list that the library has of
// them, and how often each is passed from trying until the process survives.
#include <csignal>
#include <set>

#include "oncekey/crash_point.h"
#include "oncekey/derived_key.h"
#include "support/process.h"
#include "workflow/crash_subject.h"
#include "workflow/place.h"

namespace oncekey::test {
namespace {

constexpr int killed = 128 + SIGKILL;

std::vector<std::string> workflow_steps() {
  std::vector<std::string> steps;
  for (const CrashPointName& known : crash_points()) {
    if (known.name.starts_with("workflow-")) steps.emplace_back(known.name);
  }
  return steps;
}

class WorkflowCrash : public testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  // Kills the child there; false: it was through before. Ends the leases it left.
  bool kill_at(const std::string& step, int time, const std::string& key) {
    Process child({"/usr/bin/env", "ONCEKEY_CRASH_AT=" + step + ":" + std::to_string(time),
                   WORKFLOW_CRASH_CHILD_PATH, place_.url(), ledger_path_, shape_, key});
    const auto code = child.wait();
    if (code != killed) {
      EXPECT_EQ(code, 0) << child.output();
    }
    place_.link().end_leases();
    return code == killed;
  }

  void expect_done_once(const std::string& key, bool by_completer) {
    Link& link = place_.link();
    Runner runner(link.database(), crash_subject(shape_, link, ledger_), quick());
    if (by_completer) runner.complete_stalled();
    const auto outcome = runner.run(crash_request(key));
    ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << outcome.index();
    const auto again = runner.run(crash_request(key));
    ASSERT_TRUE(std::holds_alternative<Done>(again)) << again.index();
    EXPECT_TRUE(std::get<Done>(again).replayed);
    EXPECT_EQ(*std::get<Done>(again).response, *std::get<Done>(outcome).response);

    const auto charges = ledger_.charges();
    std::size_t charged = 0;
    const std::vector<bool>& calls = crash_shapes.at(shape_);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const std::string phase = "p" + std::to_string(i);
      EXPECT_EQ(place_.effects(key, phase), 1) << phase;
      const bool called = charges.contains(derive_key(crash_request(key).id, phase));
      EXPECT_EQ(called, calls[i]) << phase;
      charged += called;
    }
    expected_charges_ += charged;
    EXPECT_EQ(charges.size(), expected_charges_) << "a call had a key of its own";
    ++runs_;
    EXPECT_EQ(place_.count(place_.own("outbox")), static_cast<int>(runs_ * calls.size()));
    EXPECT_EQ(place_.count(place_.own("workflows")), 0) << "a workflow was left hanging";
  }

  const std::string shape_ = std::get<1>(GetParam());
  Place place_{std::get<0>(GetParam())};
  TemporaryFolder folder_;
  const std::string ledger_path_ = (folder_.path() / "ledger").string();
  LedgerFile ledger_{ledger_path_};
  std::size_t expected_charges_ = 0;
  std::size_t runs_ = 0;
};

INSTANTIATE_TEST_SUITE_P(On, WorkflowCrash,
                         testing::Combine(testing::Values("sqlite", "postgres"),
                                          testing::Values("one", "one_call", "three",
                                                          "three_calls")),
                         [](const auto& parameter) {
                           return std::get<0>(parameter.param) + "_" + std::get<1>(parameter.param);
                         });

TEST_P(WorkflowCrash, KilledAtEveryStepItIsDoneExactlyOnce) {
  std::set<std::string> reached;
  for (const std::string& step : workflow_steps()) {
    for (const bool by_completer : {false, true}) {
      for (int time = 1;; ++time) {
        const std::string key = step + "-" + std::to_string(time) + (by_completer ? "-c" : "-r");
        SCOPED_TRACE(key);
        const bool died = kill_at(step, time, key);
        ASSERT_NO_FATAL_FAILURE(expect_done_once(key, by_completer));
        if (!died) break;
        reached.insert(step);
        ASSERT_LT(time, 20) << "more often than there are phases";
      }
    }
  }
  const std::vector<bool>& calls = crash_shapes.at(shape_);
  const bool has_call = std::count(calls.begin(), calls.end(), true) > 0;
  for (const std::string& step : workflow_steps()) {
    const bool needs_call = step == "workflow-before-call" || step == "workflow-called";
    const bool taken_first = step == "workflow-taken";
    if (needs_call ? has_call : !taken_first || calls[0]) {
      EXPECT_TRUE(reached.contains(step)) << step << " was never reached";
    }
  }
}

// Requests that share a commit: each of them is done exactly once, whoever was in it.
class GroupCrash : public testing::TestWithParam<std::string> {
 protected:
  Place place_{GetParam()};
  TemporaryFolder folder_;
  const std::string ledger_path_ = (folder_.path() / "ledger").string();
  LedgerFile ledger_{ledger_path_};
};
ON_BOTH_DATABASES(GroupCrash);

TEST_P(GroupCrash, KilledAtEveryStepEachRequestIsDoneExactlyOnce) {
  int expected = 0;
  int commits = 0;  // passed by the one that survived
  std::set<std::string> reached;
  for (const std::string& step : workflow_steps()) {
    for (int time = 1;; ++time) {
      const std::string key = step + "-" + std::to_string(time);
      SCOPED_TRACE(key);
      Process child({"/usr/bin/env", "ONCEKEY_CRASH_AT=" + step + ":" + std::to_string(time),
                     WORKFLOW_CRASH_CHILD_PATH, place_.url(), ledger_path_, "group", key});
      const auto code = child.wait();
      ASSERT_TRUE(code == killed || code == 0) << child.output();
      place_.link().end_leases();
      Runner runner(place_.link().database(), crash_subject("one", place_.link(), ledger_),
                    quick());
      for (int i = 0; i < crash_group_size; ++i) {
        const std::string each = crash_group_key(key, i);
        const auto outcome = runner.run(crash_request(each));
        ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << each << ": " << outcome.index();
        EXPECT_EQ(place_.effects(each, "p0"), 1) << each;
      }
      expected += crash_group_size;
      EXPECT_EQ(place_.count(place_.own("outbox")), expected);
      if (code != killed) break;
      reached.insert(step);
      if (step == "workflow-before-commit") commits = time;
      ASSERT_LE(time, crash_group_size) << "more often than there are requests";
    }
  }
  for (const char* step : {"reserved", "in-body", "before-commit", "committed", "before-answer"}) {
    EXPECT_TRUE(reached.contains(std::string("workflow-") + step)) << step << " was never reached";
  }
  EXPECT_LT(commits, crash_group_size) << "no two requests shared a commit";
}

// The one that goes on dies as well, at any step of its own.
class WorkflowCrashTwice : public WorkflowCrash {};

INSTANTIATE_TEST_SUITE_P(On, WorkflowCrashTwice,
                         testing::Combine(testing::Values("sqlite", "postgres"),
                                          testing::Values("three")),
                         [](const auto& parameter) { return std::get<0>(parameter.param); });

TEST_P(WorkflowCrashTwice, ItIsDoneExactlyOnce) {
  int pairs = 0;
  for (const char* first : {"workflow-called", "workflow-in-body", "workflow-committed"}) {
    for (const std::string& second : workflow_steps()) {
      const std::string key = std::string(first) + "-" + second;
      SCOPED_TRACE(key);
      ASSERT_TRUE(kill_at(first, 1, key));
      pairs += kill_at(second, 1, key);
      ASSERT_NO_FATAL_FAILURE(expect_done_once(key, false));
    }
  }
  EXPECT_GT(pairs, 15);
}

}  // namespace
}  // namespace oncekey::test
