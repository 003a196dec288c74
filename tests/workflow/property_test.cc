// Random workflows that die at random moments, again and again: every committed phase's effect is
// there exactly once, and the provider has charged exactly once for each call.
#include <rapidcheck.h>

#include "workflow/place.h"
#include "workflow/wrapped_database.h"

namespace oncekey::test {
namespace {

struct Death {};

// How many more steps this life takes.
class Life {
 public:
  explicit Life(int steps) : left_(steps) {}
  void step() {
    if (left_ <= 0 || --left_ == 0) throw Death{};
  }
  bool over() const { return left_ <= 0; }

 private:
  int left_;
};

class MortalDatabase final : public WrappedDatabase {
 public:
  MortalDatabase(Database& real, Life& life) : WrappedDatabase(real), life_(life) {}
  ~MortalDatabase() override { real_.rollback(); }

  void begin() override {
    life_.step();
    real_.begin();
  }
  void commit() override {
    life_.step();
    real_.commit();
    life_.step();
  }

 private:
  Life& life_;
};

constexpr int forever = 1'000'000;

class WorkflowProperty : public WorkflowTest {
 protected:
  Workflow chain(Life& life, const std::vector<bool>& calls) {
    std::vector<Phase> phases;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Phase phase;
      phase.name = "p" + std::to_string(i);
      if (calls[i]) {
        phase.call = [this, &life](const PhaseCall& call) {
          life.step();
          auto charge = provider_.charge(call.key);
          life.step();
          return charge;
        };
      }
      const bool last = i + 1 == calls.size();
      phase.body = [this, &life, last, name = phase.name](const PhaseBody& body) -> PhaseEnd {
        life.step();
        write_effect(link_, body, name);
        life.step();
        const std::string so_far =
            body.data == "null" ? "" : body.data.substr(1, body.data.size() - 2);
        const std::string path = so_far + name;
        if (last) return Finish{created(path + " " + body.input)};
        return Next{"", "\"" + path + "\""};
      };
      phases.push_back(std::move(phase));
    }
    return Workflow("chain", std::move(phases));
  }

  Provider provider_;
  int keys_ = 0;
};

ON_BOTH_DATABASES(WorkflowProperty);

TEST_P(WorkflowProperty, WhateverDiesIsDoneExactlyOnce) {
  EXPECT_TRUE(rc::check([this] {
    const auto calls = *rc::gen::container<std::vector<bool>>(*rc::gen::inRange<std::size_t>(1, 5),
                                                              rc::gen::arbitrary<bool>());
    const auto lives = *rc::gen::container<std::vector<int>>(*rc::gen::inRange<std::size_t>(0, 6),
                                                             rc::gen::inRange(1, 14));
    const bool by_completer = *rc::gen::arbitrary<bool>();
    const std::string key = "k" + std::to_string(++keys_);
    const std::size_t charges_before = provider_.charges();
    for (const int steps : lives) {
      Life life(steps);
      MortalDatabase database(link_.database(), life);
      Runner runner(database, chain(life, calls), quick());
      try {
        runner.run(request(key));
      } catch (const Death&) {
      }
      database.rollback();
      link_.end_leases();
    }
    Life life(forever);
    Runner runner(link_.database(), chain(life, calls), quick());
    if (by_completer) runner.complete_stalled();
    const auto outcome = runner.run(request(key));
    RC_ASSERT(std::holds_alternative<Done>(outcome));
    std::string expected;
    for (std::size_t i = 0; i < calls.size(); ++i) expected += "p" + std::to_string(i);
    RC_ASSERT(std::get<Done>(outcome).response->body == expected + R"( {"amount":5})");
    const auto again = runner.run(request(key));
    RC_ASSERT(std::get<Done>(again).replayed);
    RC_ASSERT(*std::get<Done>(again).response == *std::get<Done>(outcome).response);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      RC_ASSERT(place_.effects(key, "p" + std::to_string(i)) == 1);
    }
    const auto wanted = static_cast<std::size_t>(std::count(calls.begin(), calls.end(), true));
    RC_ASSERT(provider_.charges() - charges_before == wanted);
  }));
}

}  // namespace
}  // namespace oncekey::test
