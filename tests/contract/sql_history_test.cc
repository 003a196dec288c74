// What the SQL functions note of a key's past, and how they forget a key.
#include <gtest/gtest.h>

#include "contract/older_schema.h"
#include "contract/sql_session.h"

namespace oncekey::store {
namespace {

class SqlHistory : public testing::Test {
 protected:
  SqlHistory() { clock_.set(now_); }

  void wait(DurationMs time) { clock_.set(now_ += time); }

  std::string reserve(const std::string& key, const std::string& owner) {
    const SqlRow row = sql_.reserve(key, 1, ", lease => '1 s', owner => '" + owner + "'");
    EXPECT_EQ(row["decision"], "execute") << row.json();
    return row["fence"];
  }
  // "state attempt by reason", one after the other.
  std::string told(const std::string& key) {
    return sql_.query(
        "SELECT coalesce(string_agg(concat_ws(' ', state, attempt, by_whom, reason), ', '), '')"
        " FROM oncekey.timeline(" +
        SqlSession::id(key) + ")");
  }
  std::string evict(const std::string& key, const std::string& more = "") {
    return sql_.query("SELECT oncekey.evict(" + SqlSession::id(key) + more + ")");
  }

  std::string url_ = fresh_clocked_database();
  PostgresClock clock_{url_};
  SqlSession sql_{url_};
  TimestampMs now_ = 1'700'000'000'000;
};

TEST_F(SqlHistory, TellsEveryTransition) {
  sql_.fail("k", reserve("k", "a"));
  sql_.complete("k", reserve("k", "b"));
  EXPECT_EQ(told("k"),
            "in_progress 1 a , failed_retryable 1 a refused, in_progress 2 b , completed 2 b ");
  EXPECT_EQ(told("other"), "");
}

TEST_F(SqlHistory, WithdrawnReservationLeavesNoTrace) {
  sql_.fail("k", reserve("k", "a"));
  const std::string before = told("k");
  const std::string fence = reserve("k", "b");
  EXPECT_NE(told("k"), before);
  sql_.query("SELECT oncekey.withdraw_batch('{tenant}', '{k}', '{" + fence + "}')");
  EXPECT_EQ(told("k"), before);
}

TEST_F(SqlHistory, WorkflowTellsWhoTookItOverAndEndsWithItsKey) {
  const std::string fence = reserve("k", "a");
  sql_.settle("begin_workflow", "k", fence, ", 'payment'");
  EXPECT_TRUE(sql_.advance("k", fence));
  wait(1'000);
  const std::string resume =
      "SELECT fence FROM oncekey.resume(" + SqlSession::id("k") + ", 'payment', owner => 'b')";
  const std::string second = sql_.query(resume);
  EXPECT_EQ(told("k"), "in_progress 1 a , in_progress 2 b the lease ran out");
  EXPECT_EQ(evict("k", ", true"), "f");
  sql_.fail("k", second);
  EXPECT_EQ(evict("k"), "t");
  EXPECT_EQ(sql_.query("SELECT count(*) FROM oncekey.workflows"), "0");
  EXPECT_EQ(sql_.reserve("k", 2)["decision"], "execute");
}

TEST_F(SqlHistory, EvictsAnUnknownOutcomeOnlyWhenThatIsSaid) {
  sql_.mark_unknown("k", reserve("k", "a"));
  EXPECT_EQ(evict("k"), "f");
  EXPECT_EQ(evict("k", ", NULL"), "f");
  EXPECT_EQ(evict("k", ", true"), "t");
  EXPECT_EQ(evict("k", ", true"), "f");
}

TEST_F(SqlHistory, LongReasonIsCutAndEscapesStayWhole) {
  const std::string fence = reserve("k", "a");
  sql_.settle("fail", "k", fence, ", repeat('x', 1000)");
  EXPECT_EQ(sql_.query("SELECT max(length(reason)) FROM oncekey.timeline('tenant', 'k')"), "256");
}

// 0007 replaces functions, and a gateway's statements call new ones: both need no new grants.
TEST(SqlHistoryMigration, KeepsGrantsAndRecords) {
  const std::string url = database_of_version(6);
  make_role(url, "history_gateway");
  test::PostgresClient owner(url);
  owner.execute(
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA oncekey TO history_gateway;"
      "SELECT oncekey.mark_unknown('s', 'k', (SELECT fence FROM oncekey.reserve('s', 'k', 'x',"
      " owner => 'a')), 'cut off')");
  auto migrated = migrate(url, soon());
  ASSERT_TRUE(migrated) << migrated.error().message;
  EXPECT_EQ(owner.query("SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid ="
                        " p.pronamespace WHERE n.nspname = 'oncekey' AND p.proname IN ('noted',"
                        " 'resolve_one', 'resolve_joined', 'evict_one') AND"
                        " has_function_privilege('history_gateway', p.oid, 'EXECUTE')"),
            "4");
  EXPECT_EQ(owner.query("SELECT string_agg(concat_ws(' ', state, attempt, by_whom, reason), ', ')"
                        " FROM oncekey.timeline('s', 'k')"),
            "in_progress 1 a , unknown 1 a cut off");
}

}  // namespace
}  // namespace oncekey::store
