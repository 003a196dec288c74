// Many requests in one commit come to what each would have come to by itself.
#include "oncekey/group.h"

#include <thread>

#include "workflow/place.h"

namespace oncekey::test {
namespace {

class Groups : public WorkflowTest {
 protected:
  // On PostgreSQL two connections, which work at once; SQLite has one writer.
  GroupRunner runner(const std::function<void(const std::string& key)>& in_body = {}) {
    std::vector<GroupMember> members;
    const int connections = link_.is_postgres() ? 2 : 1;
    for (int i = 0; i < connections; ++i) {
      links_.push_back(place_.another_link());
      Link& link = *links_.back();
      members.push_back(
          {link.database(),
           Workflow("payment",
                    {{.name = "pay", .body = [&link, in_body](const PhaseBody& body) -> PhaseEnd {
                        write_effect(link, body, "payment");
                        body.transaction.enqueue(
                            {.destination = "provider", .payload = body.id.key});
                        if (in_body) in_body(body.id.key);
                        if (body.id.key.starts_with("fails")) return Fail{"refused"};
                        return Finish{created("\"" + body.id.key + "\"")};
                      }}})});
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
