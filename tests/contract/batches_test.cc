// Operations that are done together, as many at a time as arrive: each record keeps what was said
// of it, whether it is the same as what was said of its neighbours or not.
#include <algorithm>
#include <map>

#include "contract.h"

namespace oncekey::store {
namespace {

class Batches : public ContractTest {
 protected:
  void apply_together(std::vector<Operation>& operations) {
    std::vector<Operation*> batch;
    for (Operation& operation : operations) batch.push_back(&operation);
    engine_->apply(batch, now_);
  }

  // Reserved in one batch, in this order.
  std::vector<Execute> reserve_together(const std::vector<Reserve>& reserves) {
    std::vector<Operation> operations(reserves.begin(), reserves.end());
    apply_together(operations);
    std::vector<Execute> made;
    for (Operation& operation : operations) {
      made.push_back(expect<Execute>(std::get<Reserve>(operation).outcome));
    }
    return made;
  }

  // Answers of keys "0", "1" …, given in one batch.
  std::vector<Settled> answer_together(const std::vector<SettleCompleted>& answers) {
    std::vector<Reserve> reserves;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      reserves.push_back(reserve_of(std::to_string(i)));
    }
    return settle_together(reserves, answers);
  }
  std::vector<Settled> settle_together(const std::vector<Reserve>& reserves,
                                       const std::vector<SettleCompleted>& answers) {
    const std::vector<Execute> made = reserve_together(reserves);
    std::vector<Operation> operations;
    for (std::size_t i = 0; i < answers.size(); ++i) {
      operations.emplace_back(
          settle_of(reserves[i].id.key, made[i].fence, answers[i], reserves[i].id.scope));
    }
    apply_together(operations);
    std::vector<Settled> settled;
    for (Operation& operation : operations) {
      settled.push_back(expect<Settled>(std::get<Settle>(operation).outcome));
    }
    return settled;
  }

  void expect_answers(const std::vector<SettleCompleted>& answers) {
    for (std::size_t i = 0; i < answers.size(); ++i) {
      const auto replay = expect<Replay>(apply(reserve_of(std::to_string(i))));
      const auto& expected = answers[i].response;
      ASSERT_EQ(replay.response == nullptr, expected == nullptr) << i;
      if (expected == nullptr) continue;
      EXPECT_EQ(replay.response->schema_version, expected->schema_version) << i;
      // Not every engine can read what a later build has written.
      if (expected->schema_version > StoredResponse::current_schema_version) continue;
      EXPECT_EQ(*replay.response, *expected) << i;
    }
  }

  void expect_record(const Reserve& asked, const Execute& made) {
    EXPECT_EQ(made.locked_until, now_ + asked.lease_ms) << asked.id.key;
    const auto record = get(asked.id.key, asked.id.scope);
    ASSERT_TRUE(record) << asked.id.key;
    EXPECT_EQ(record->state, State::in_progress);
    EXPECT_EQ(record->fence, made.fence);
    EXPECT_EQ(record->fingerprint, asked.fingerprint);
    EXPECT_EQ(record->locked_until, now_ + asked.lease_ms);
    EXPECT_EQ(record->retention_ms, asked.retention_ms);
    EXPECT_EQ(record->tombstone_ms, asked.tombstone_ms);
    EXPECT_EQ(record->method, asked.method);
    EXPECT_EQ(record->path, asked.path);
    EXPECT_EQ(record->owner, asked.owner);
  }
};

INSTANTIATE_TEST_SUITE_P(Engines, Batches, ::testing::ValuesIn(all_engines()), engine_name);

TEST_P(Batches, RecordsThatAgreeInEverything) {
  const std::vector<Reserve> asked = {reserve_of("a"), reserve_of("b"), reserve_of("c")};
  const auto made = reserve_together(asked);
  for (std::size_t i = 0; i < asked.size(); ++i) expect_record(asked[i], made[i]);
}

// The middle one of three differs from its neighbours, which agree with each other.
TEST_P(Batches, RecordsThatDifferInOneThing) {
  const std::vector<std::pair<const char*, void (*)(Reserve&)>> differences = {
      {"scope", [](Reserve& r) { r.id.scope = "another"; }},
      {"lease", [](Reserve& r) { r.lease_ms += 7; }},
      {"retention", [](Reserve& r) { r.retention_ms += 7; }},
      {"tombstone", [](Reserve& r) { r.tombstone_ms = tombstone_ms; }},
      {"method", [](Reserve& r) { r.method = "PATCH"; }},
      {"path", [](Reserve& r) { r.path = "/orders/2"; }},
      {"empty path", [](Reserve& r) { r.path = ""; }},
      {"owner", [](Reserve& r) { r.owner = "node 2, run 1"; }},
      {"fingerprint", [](Reserve& r) { r.fingerprint = payload(9); }},
  };
  for (const auto& [name, differ] : differences) {
    SCOPED_TRACE(name);
    const std::string key(name);
    std::vector<Reserve> asked = {reserve_of(key + "1"), reserve_of(key + "2"),
                                  reserve_of(key + "3")};
    differ(asked[1]);
    const auto made = reserve_together(asked);
    for (std::size_t i = 0; i < asked.size(); ++i) expect_record(asked[i], made[i]);
  }
}

TEST_P(Batches, NewAndKnownKeysTogether) {
  const Fence known = complete("b");
  std::vector<Operation> operations = {reserve_of("a"), reserve_of("b"), reserve_of("c")};
  apply_together(operations);
  expect<Execute>(std::get<Reserve>(operations[0]).outcome);
  expect<Replay>(std::get<Reserve>(operations[1]).outcome);
  expect<Execute>(std::get<Reserve>(operations[2]).outcome);
  EXPECT_EQ(get("b")->fence, known);
}

// What a batch met and did not take is swept when its own lease has ended, neither before nor
// never.
TEST_P(Batches, LeasesOfNewAndKnownKeysTogether) {
  Reserve longer = reserve_of("b");
  longer.lease_ms = 3 * lease_ms;
  expect<Execute>(apply(longer));
  std::vector<Operation> operations = {reserve_of("a"), reserve_of("b"), reserve_of("c")};
  apply_together(operations);
  expect<Execute>(std::get<Reserve>(operations[0]).outcome);
  expect<InFlight>(std::get<Reserve>(operations[1]).outcome);
  expect<Execute>(std::get<Reserve>(operations[2]).outcome);

  const auto sweep = [&] {
    auto swept = expect<std::vector<RecordId>>(apply(Sweep{}));
    std::sort(swept.begin(), swept.end());
    return swept;
  };
  wait(lease_ms);
  EXPECT_EQ(sweep(), (std::vector<RecordId>{{"tenant", "a"}, {"tenant", "c"}}));
  EXPECT_EQ(get("b")->state, State::in_progress);
  wait(lease_ms);
  EXPECT_EQ(sweep(), std::vector<RecordId>());
  wait(lease_ms);
  EXPECT_EQ(sweep(), (std::vector<RecordId>{{"tenant", "b"}}));
}

TEST_P(Batches, RepetitionsAreAnsweredAsIfTheyHadComeOneByOne) {
  complete("done");
  fail("failed");
  lose("lost");
  std::vector<Operation> operations;
  for (int i = 0; i < 3; ++i) {
    for (const char* key : {"new", "done", "failed", "lost"}) {
      operations.emplace_back(reserve_of(key));
      operations.emplace_back(reserve_of(key, 2));
    }
  }
  apply_together(operations);
  std::map<std::string, int> executed;
  for (const Operation& operation : operations) {
    const auto& reserve = std::get<Reserve>(operation);
    const std::string& key = reserve.id.key;
    if (std::holds_alternative<Execute>(reserve.outcome)) {
      ++executed[key];
    } else if (reserve.fingerprint != payload(1)) {
      EXPECT_TRUE(std::holds_alternative<Mismatch>(reserve.outcome)) << key;
    } else if (key == "done") {
      EXPECT_TRUE(std::holds_alternative<Replay>(reserve.outcome));
    } else if (key == "lost") {
      EXPECT_TRUE(std::holds_alternative<OutcomeUnknown>(reserve.outcome));
    } else {
      EXPECT_TRUE(std::holds_alternative<InFlight>(reserve.outcome)) << key;
    }
  }
  EXPECT_EQ(executed, (std::map<std::string, int>{{"failed", 1}, {"new", 1}}));
}

TEST_P(Batches, AnswersThatAgree) {
  const std::vector<SettleCompleted> answers = {answered("1"), answered("2"), answered("3")};
  for (const Settled& settled : answer_together(answers)) {
    EXPECT_EQ(settled.expires_at, now_ + retention_ms);
  }
  expect_answers(answers);
}

TEST_P(Batches, AnswersThatDiffer) {
  auto without_headers = std::make_shared<StoredResponse>();
  without_headers->status = 204;
  auto with_others = std::make_shared<StoredResponse>();
  with_others->status = 599;
  with_others->body_encoding = BodyEncoding::zstd;
  with_others->headers = {{"x", "a,\"b\"\\"}, {"y", ""}};
  auto of_later_schema = std::make_shared<StoredResponse>();
  of_later_schema->status = 201;
  of_later_schema->schema_version = 255;
  const std::vector<SettleCompleted> answers = {
      answered("1"), {without_headers}, {nullptr}, {with_others}, answered("5"), {of_later_schema}};
  answer_together(answers);
  expect_answers(answers);
}

TEST_P(Batches, NoAnswersThatWereKept) {
  const std::vector<SettleCompleted> answers = {{nullptr}, {nullptr}};
  answer_together(answers);
  expect_answers(answers);
}

// It has no headers, though its neighbours have the same.
TEST_P(Batches, AnswersBesideOneThatWasNotKept) {
  const std::vector<SettleCompleted> answers = {answered("1"), {nullptr}, answered("3")};
  answer_together(answers);
  expect_answers(answers);
}

TEST_P(Batches, EachIsKeptAsLongAsItShouldBe) {
  std::vector<Reserve> asked = {reserve_of("a"), reserve_of("b"), reserve_of("c")};
  asked[1].retention_ms = 5 * retention_ms;
  const auto settled = settle_together(asked, {answered("a"), answered("b"), answered("c")});
  for (std::size_t i = 0; i < asked.size(); ++i) {
    EXPECT_EQ(settled[i].expires_at, now_ + asked[i].retention_ms) << asked[i].id.key;
  }
  wait(2 * retention_ms);
  expect<Execute>(apply(asked[0]));
  expect<Replay>(apply(asked[1]));
  expect<Execute>(apply(asked[2]));
}

}  // namespace
}  // namespace oncekey::store
