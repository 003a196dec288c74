// Many requests in one commit come to what each would have come to by itself.
#include "oncekey/group.h"

#include <chrono>
#include <future>
#include <latch>
#include <thread>

#include "workflow/place.h"
#include "workflow/wrapped_database.h"

namespace oncekey::test {
namespace {

// A commit that hangs, until it is told to go on.
struct Hang {
  std::atomic<int> commits = 0;
  std::latch begun{1};
  std::latch over{1};
};

// The first commit of all that share a Hang takes effect, and then does not return: SQLite's only
// writer would keep everybody out before that.
class HangingDatabase final : public WrappedDatabase {
 public:
  HangingDatabase(Database& real, Hang& hang) : WrappedDatabase(real), hang_(hang) {}

  void commit() override {
    real_.commit();
    if (hang_.commits++ != 0) return;
    hang_.begun.count_down();
    hang_.over.wait();
  }

 private:
  Hang& hang_;
};

class Groups : public WorkflowTest {
 protected:
  using InBody = std::function<void(const std::string& key)>;

  static Workflow payment(Link& link, const InBody& in_body) {
    return Workflow(
        "payment",
        {{.name = "pay", .body = [&link, in_body](const PhaseBody& body) -> PhaseEnd {
            write_effect(link, body, "payment");
            body.transaction.enqueue({.destination = "provider", .payload = body.id.key});
            if (in_body) in_body(body.id.key);
            if (body.id.key.starts_with("fails")) return Fail{"refused"};
            return Finish{created("\"" + body.id.key + "\"")};
          }}});
  }

  // On PostgreSQL two connections, which work at once; SQLite has one writer.
  GroupRunner runner(const InBody& in_body = {}) {
    std::vector<GroupMember> members;
    const int connections = link_.is_postgres() ? 2 : 1;
    for (int i = 0; i < connections; ++i) {
      links_.push_back(place_.another_link());
      Link& link = *links_.back();
      members.push_back({link.database(), payment(link, in_body)});
    }
    return GroupRunner(std::move(members), quick());
  }

  GroupRunner hanging_runner(Hang& hang) {
    std::vector<GroupMember> members;
    for (int i = 0; i < 2; ++i) {
      links_.push_back(place_.another_link());
      Link& link = *links_.back();
      hanging_.push_back(std::make_unique<HangingDatabase>(link.database(), hang));
      members.push_back({*hanging_.back(), payment(link, {})});
    }
    return GroupRunner(std::move(members), quick());
  }

  // Runs them all at once; what each came to, by its place.
  std::vector<std::optional<RunOutcome>> run_all(GroupRunner& group,
                                                 const std::vector<std::string>& keys) {
    std::vector<std::optional<RunOutcome>> outcomes(keys.size());
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          outcomes[i] = group.run(request(keys[i], "{}"));
        } catch (const std::runtime_error&) {
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    return outcomes;
  }

  static std::vector<std::string> keys(const std::string& prefix, int count) {
    std::vector<std::string> made;
    for (int i = 0; i < count; ++i) made.push_back(prefix + std::to_string(i));
    return made;
  }

  void expect_done(const std::optional<RunOutcome>& outcome, const std::string& key) {
    ASSERT_TRUE(outcome && std::holds_alternative<Done>(*outcome)) << key;
    EXPECT_EQ(std::get<Done>(*outcome).response->body, "\"" + key + "\"");
    EXPECT_EQ(place_.effects(key, "payment"), 1) << key;
    EXPECT_EQ(place_.record({"tenant", key})->state, State::completed) << key;
  }

  std::vector<std::unique_ptr<Link>> links_;
  std::vector<std::unique_ptr<HangingDatabase>> hanging_;
};
ON_BOTH_DATABASES(Groups);

TEST_P(Groups, EveryRequestIsExecutedOnceAndReplayedAfterwards) {
  GroupRunner group = runner();
  const auto all = keys("k", 48);
  for (int round = 0; round < 2; ++round) {
    const auto outcomes = run_all(group, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      expect_done(outcomes[i], all[i]);
      EXPECT_EQ(std::get<Done>(*outcomes[i]).replayed, round == 1);
    }
  }
  EXPECT_EQ(place_.count(place_.own("outbox")), 48);
}

TEST_P(Groups, ManyWithOneKeyAreOneExecution) {
  GroupRunner group = runner();
  const auto outcomes = run_all(group, std::vector<std::string>(24, "same"));
  int fresh = 0;
  for (const auto& outcome : outcomes) {
    expect_done(outcome, "same");
    if (!std::get<Done>(*outcome).replayed) ++fresh;
  }
  EXPECT_EQ(fresh, 1);
  EXPECT_EQ(place_.count(place_.own("outbox")), 1);
}

TEST_P(Groups, OneThatThrowsOrFailsTakesNobodyWithIt) {
  std::atomic<int> thrown{0};
  GroupRunner group = runner([&](const std::string& key) {
    if (!key.starts_with("throws")) return;
    ++thrown;
    throw std::runtime_error("as told");
  });
  auto all = keys("k", 20);
  all.push_back("throws");
  all.push_back("fails");
  const auto outcomes = run_all(group, all);
  for (int i = 0; i < 20; ++i) expect_done(outcomes[i], all[i]);
  EXPECT_FALSE(outcomes[20]) << "the exception goes to its own caller";
  ASSERT_TRUE(outcomes[21]);
  EXPECT_TRUE(std::holds_alternative<TryAgain>(*outcomes[21]));
  EXPECT_GE(thrown, 1);
  EXPECT_EQ(place_.effects("throws", "payment"), 0);
  EXPECT_EQ(place_.effects("fails", "payment"), 0);
  EXPECT_EQ(place_.count(place_.own("outbox")), 20);
}

TEST_P(Groups, AnotherFingerprintIsRefusedWithinAGroup) {
  GroupRunner group = runner();
  run_all(group, {"k0"});
  RunRequest other = request("k0", "{}");
  other.fingerprint.digest.fill(9);
  std::vector<std::thread> threads;
  for (int i = 1; i < 8; ++i) {
    threads.emplace_back([&, i] { group.run(request("k" + std::to_string(i), "{}")); });
  }
  const RunOutcome outcome = group.run(other);
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(std::holds_alternative<Mismatch>(outcome));
  EXPECT_EQ(place_.effects("k0", "payment"), 1);
}

TEST_P(Groups, ConnectionThatHangsInItsCommitHoldsUpNobodyElse) {
  Hang hang;
  GroupRunner group = hanging_runner(hang);
  const auto run = [&](const std::string& key) {
    return std::async(std::launch::async, [&group, key] { return group.run(request(key, "{}")); });
  };
  auto slow = run("slow");
  hang.begun.wait();
  auto first = run("first");
  auto second = run("second");
  // Only where it fails does it wait so long.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const bool first_in_time = first.wait_until(deadline) == std::future_status::ready;
  const bool second_in_time = second.wait_until(deadline) == std::future_status::ready;
  hang.over.count_down();
  EXPECT_TRUE(first_in_time && second_in_time) << "they waited for the commit that hangs";
  expect_done(first.get(), "first");
  expect_done(second.get(), "second");
  expect_done(slow.get(), "slow");
}

TEST_P(Groups, TakeOnlyOnePhaseWithoutACall) {
  const auto finish = [](const PhaseBody&) -> PhaseEnd { return Finish{created("1")}; };
  const auto call = [](const PhaseCall&) { return std::string(); };
  const auto make = [&](Workflow workflow) {
    std::vector<GroupMember> members;
    members.push_back({link_.database(), std::move(workflow)});
    GroupRunner group(std::move(members), quick());
  };
  EXPECT_THROW(make(Workflow("w", {{.name = "a", .call = call, .body = finish}})), Misuse);
  EXPECT_THROW(make(Workflow("w", {{.name = "a", .body = finish}, {.name = "b", .body = finish}})),
               Misuse);
  EXPECT_THROW(GroupRunner(std::vector<GroupMember>{}), Misuse);
}

}  // namespace
}  // namespace oncekey::test
