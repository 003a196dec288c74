// Commits whose answer is lost: what was committed is read, never guessed.
#include "workflow/place.h"
#include "workflow/wrapped_database.h"

namespace oncekey::test {
namespace {

// Loses the connection in the commit of that number, before or after it took effect.
class LossyDatabase final : public WrappedDatabase {
 public:
  LossyDatabase(Database& real, int number, bool takes_effect)
      : WrappedDatabase(real), left_(number), takes_effect_(takes_effect) {}

  void commit() override {
    if (--left_ != 0) return real_.commit();
    if (takes_effect_) {
      real_.commit();
    } else {
      real_.rollback();
    }
    throw DatabaseError(DatabaseError::Kind::lost, "the answer to a commit was lost");
  }
  bool lost() const { return left_ <= 0; }

 private:
  int left_;
  bool takes_effect_;
};

class WorkflowDoubt : public WorkflowTest {
 protected:
  Workflow payment(bool calls_first) {
    const auto charge = [this](const PhaseCall& call) { return provider_.charge(call.key); };
    const auto row = [this](const std::string& what, PhaseEnd end) {
      return [this, what, end](const PhaseBody& body) -> PhaseEnd {
        write_effect(link_, body, what);
        return end;
      };
    };
    return Workflow("payment", {{.name = "a",
                                 .call = calls_first ? charge : decltype(Phase::call)(),
                                 .body = row("a", Next{"b", "[1]"})},
                                {.name = "b", .call = charge, .body = row("b", Next{"c", "[2]"})},
                                {.name = "c", .body = row("c", Finish{created("paid")})}});
  }
  void expect_each_effect_once(const std::string& key) {
    for (const char* what : {"a", "b", "c"}) EXPECT_EQ(place_.effects(key, what), 1) << what;
  }

  Provider provider_;
};

ON_BOTH_DATABASES(WorkflowDoubt);

TEST_P(WorkflowDoubt, EveryCommitMayLoseItsAnswer) {
  for (const bool calls_first : {false, true}) {
    for (const bool takes_effect : {false, true}) {
      for (int number = 1;; ++number) {
        const std::string key =
            std::to_string(calls_first) + std::to_string(takes_effect) + std::to_string(number);
        SCOPED_TRACE(key);
        LossyDatabase database(link_.database(), number, takes_effect);
        Runner runner(database, payment(calls_first), quick());
        const auto outcome = runner.run(request(key));
        ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << outcome.index();
        EXPECT_EQ(std::get<Done>(outcome).response->body, "paid");
        EXPECT_TRUE(std::get<Done>(runner.run(request(key))).replayed);
        expect_each_effect_once(key);
        if (!database.lost()) {
          EXPECT_EQ(number, calls_first ? 5 : 4);
          break;
        }
      }
    }
  }
  EXPECT_EQ(place_.count("effects") % 3, 0);
}

TEST_P(WorkflowDoubt, CommitOfADeadOwnersTakeoverMayLoseItsAnswer) {
  for (const bool takes_effect : {false, true}) {
    const std::string key = takes_effect ? "taken" : "not-taken";
    auto phases = payment(false).phases();
    phases[1].body = [](const PhaseBody&) -> PhaseEnd { throw std::runtime_error("dies"); };
    Runner dying(link_.database(), Workflow("payment", phases), quick());
    EXPECT_THROW(dying.run(request(key)), std::runtime_error);
    link_.end_leases();
    LossyDatabase database(link_.database(), 1, takes_effect);
    Runner runner(database, payment(false), quick());
    const auto outcome = runner.run(request(key));
    ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << outcome.index();
    expect_each_effect_once(key);
  }
}

// The connection itself is lost, and comes back: SQLite has none to lose.
class WorkflowLostConnection : public WorkflowDoubt {};

INSTANTIATE_TEST_SUITE_P(On, WorkflowLostConnection, testing::Values("postgres"),
                         [](const auto& parameter) { return parameter.param; });

TEST_P(WorkflowLostConnection, IsMadeAnewAndTheTransactionWithIt) {
  auto phases = payment(false).phases();
  for (std::size_t phase : {0u, 1u}) {
    auto left = std::make_shared<int>(1);
    phases[phase].body = [this, left, body = phases[phase].body](const PhaseBody& given) {
      auto end = body(given);
      if ((*left)-- > 0) {
        const auto other = place_.another_link();
        other->execute("SELECT pg_terminate_backend(" + link_.query("SELECT pg_backend_pid()") +
                       ", 10000)");
      }
      return end;
    };
  }
  auto options = quick();
  int reconnected = 0;
  options.reconnect = [&] {
    ++reconnected;
    link_.reconnect();
  };
  Runner runner(link_.database(), Workflow("payment", phases), options);
  const auto outcome = runner.run(request("k"));
  ASSERT_TRUE(std::holds_alternative<Done>(outcome)) << outcome.index();
  EXPECT_EQ(reconnected, 2);
  EXPECT_EQ(provider_.requests(), 1);
  expect_each_effect_once("k");
}

TEST_P(WorkflowLostConnection, WithoutReconnectTheSameRequestGoesOnLater) {
  auto phases = payment(false).phases();
  phases[1].body = [this](const PhaseBody&) -> PhaseEnd {
    const auto other = place_.another_link();
    other->execute("SELECT pg_terminate_backend(" + link_.query("SELECT pg_backend_pid()") +
                   ", 10000)");
    return Next{};
  };
  Runner runner(link_.database(), Workflow("payment", phases), quick());
  try {
    runner.run(request("k"));
    FAIL() << "the connection was not missed";
  } catch (const DatabaseError& error) {
    EXPECT_EQ(error.kind(), DatabaseError::Kind::lost) << error.what();
  }
  link_.reconnect();
  link_.end_leases();
  Runner later(link_.database(), payment(false), quick());
  EXPECT_TRUE(std::holds_alternative<Done>(later.run(request("k"))));
  expect_each_effect_once("k");
  EXPECT_EQ(provider_.charges(), 1u);
}

}  // namespace
}  // namespace oncekey::test
