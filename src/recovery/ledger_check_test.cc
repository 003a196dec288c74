#include "recovery/ledger_check.h"

#include <gtest/gtest.h>

#include <map>

#include "boundary/response_codec.h"
#include "http/server.h"
#include "oncekey/derived_key.h"
#include "recovery/ledger_fixture.h"
#include "store/memory.h"

namespace oncekey::recovery {
namespace {

constexpr TimestampMs now = 1'772'366'400'000;  // 2026-03-01T12:00:00Z
constexpr DurationMs hour = 3'600'000;

class LedgerComparison : public testing::Test {
 protected:
  template <class Op>
  auto apply(Op op) {
    Operation operation = std::move(op);
    committer_.apply_now(operation);
    return std::get<Op>(operation).outcome;
  }
  void record(const std::string& key, Verdict verdict, TimestampMs at = now - hour) {
    time_ = at;
    Reserve reserve;
    reserve.id = {"tenant", key};
    reserve.method = "POST";
    reserve.path = "/payments";
    reserve.lease_ms = 1'000;
    reserve.retention_ms = 10'000 * hour;
    const auto held = apply(reserve);
    Settle settle;
    settle.id = reserve.id;
    settle.fence = std::get<Execute>(held).fence;
    settle.verdict = std::move(verdict);
    apply(settle);
    time_ = now;
  }
  static SettleCompleted answered(int status, const std::string& amount) {
    const std::string body = "{\"amount\":" + amount + "}";
    return {std::make_shared<StoredResponse>(pack_response(status, {}, body, {}))};
  }
  void charge(const std::string& key, const std::string& amount = "100",
              const std::string& status = "succeeded", TimestampMs at = now - hour) {
    ledger_.add({"ch_" + key, derive_key({"tenant", key}, "charge"), amount, status, at});
  }

  LedgerCounts check(std::size_t in_memory_max = 1'000) {
    LedgerRules rules;
    rules.get = ledger_.url() + "/ledger?after={after}";
    rules.first = "0";
    rules.amount = "/amount";
    rules.state = "/status";
    rules.executed_states = {"succeeded"};
    rules.kind = "/object";
    rules.kinds = {"charge"};
    rules.phase = "charge";
    rules.our_amount = "/amount";
    LedgerCheck check(
        {committer_, prober_, rules,
         [](const Record& record) { return record.path == "/payments"; }, [] { return now; },
         [this](const Difference& difference) {
           found_[std::string(to_string(difference.kind))].push_back(difference);
         }},
        in_memory_max);
    return check.run_once();
  }

  std::atomic<TimestampMs> time_{now};
  LedgerFixture ledger_;
  store::MemoryEngine engine_;
  store::Committer committer_{engine_, [this] { return time_.load(); }};
  Prober prober_;
  std::map<std::string, std::vector<Difference>> found_;
};

TEST_F(LedgerComparison, NothingDiffersWhereEverythingIsInItsPlace) {
  for (int i = 0; i < 30; ++i) {
    record("key-" + std::to_string(i), answered(201, "100"));
    charge("key-" + std::to_string(i));
  }
  record("declined", answered(402, "0"));
  charge("declined", "100", "declined");
  record("invalid", answered(400, "0"));
  record("failed", SettleFailed{"refused"});
  const LedgerCounts counts = check();
  EXPECT_EQ(counts.error, "");
  EXPECT_EQ(counts.differences, 0u);
  EXPECT_EQ(counts.charges, 31u);
  EXPECT_EQ(counts.records, 30u);
}

TEST_F(LedgerComparison, PlantedDifferencesAreFoundInBothDirections) {
  record("good", answered(201, "100"));
  charge("good");
  charge("nobody");
  record("uncharged", answered(201, "100"));
  record("only declined there", answered(201, "100"));
  charge("only declined there", "100", "declined");
  record("may run again", SettleFailed{"the probe found nothing"});
  charge("may run again");
  record("refused here", answered(402, "100"));
  charge("refused here");
  record("dearer", answered(201, "100"));
  charge("dearer", "1000");
  record("twice", answered(201, "100"));
  charge("twice");
  charge("twice");
  record("undecided", SettleUnknown{"reset", 0});
  charge("undecided");
  const LedgerCounts counts = check();
  EXPECT_EQ(counts.error, "");
  EXPECT_EQ(counts.differences, 7u);
  EXPECT_EQ(counts.undecided, 1u);
  ASSERT_EQ(found_["charge_without_record"].size(), 1u);
  EXPECT_EQ(found_["charge_without_record"][0].charge, "ch_nobody");
  ASSERT_EQ(found_["record_without_charge"].size(), 2u);
  EXPECT_EQ(found_["record_says_not_executed"].size(), 2u);
  ASSERT_EQ(found_["amount_differs"].size(), 1u);
  EXPECT_EQ(found_["amount_differs"][0].ours, "100");
  EXPECT_EQ(found_["amount_differs"][0].theirs, "1000");
  ASSERT_EQ(found_["charged_twice"].size(), 1u);
  EXPECT_EQ(found_["charged_twice"][0].record.key, "twice");
}

TEST_F(LedgerComparison, FindsTheSameInPartsThatFitIntoMemory) {
  for (int i = 0; i < 40; ++i) record("key-" + std::to_string(i), answered(201, "100"));
  for (int i = 10; i < 50; ++i) charge("key-" + std::to_string(i));
  const LedgerCounts counts = check(7);
  EXPECT_EQ(counts.charges, 40u);
  EXPECT_EQ(counts.records, 40u);
  EXPECT_EQ(found_["record_without_charge"].size(), 10u);
  EXPECT_EQ(found_["charge_without_record"].size(), 10u);
}

TEST_F(LedgerComparison, OnlyTheWindowIsReportedAndOldRecordsStillMatch) {
  record("old", answered(201, "100"), now - 72 * hour);
  charge("old", "100", "succeeded", now - hour);  // charged at last, by a late retry
  record("older", answered(201, "100"), now - 72 * hour);
  charge("under way", "100", "succeeded", now - 1'000);
  record("just now", answered(201, "100"), now - 1'000);
  EXPECT_EQ(check().differences, 0u);
}

TEST_F(LedgerComparison, HalfALedgerAccusesNobody) {
  for (int i = 0; i < 30; ++i) {
    record("key-" + std::to_string(i), answered(201, "100"));
    charge("key-" + std::to_string(i));
  }
  ledger_.fail_after_pages(1);
  const LedgerCounts counts = check();
  EXPECT_NE(counts.error, "");
  EXPECT_EQ(counts.differences, 0u);
}

TEST(LedgerPage, SaysWhatIsWrongWithIt) {
  const LedgerRules rules;
  EXPECT_FALSE(read_ledger_page(rules, "<html>"));
  EXPECT_FALSE(read_ledger_page(rules, "{}"));
  EXPECT_FALSE(read_ledger_page(rules, R"({"data":[{"id":"a"}]})"));
  EXPECT_TRUE(read_ledger_page(rules, R"({"data":[]})"));
}

}  // namespace
}  // namespace oncekey::recovery
