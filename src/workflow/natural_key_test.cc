#include "oncekey/natural_key.h"

#include <gtest/gtest.h>

namespace oncekey {
namespace {

TEST(NaturalKey, IsReadable) {
  EXPECT_EQ(natural_key({"order", "17"}), "/order/17");
}

TEST(NaturalKey, TellsApartPartsThatJoinToTheSameText) {
  EXPECT_NE(natural_key({"a/b"}), natural_key({"a", "b"}));
  EXPECT_NE(natural_key({"a%2Fb"}), natural_key({"a/b"}));
  EXPECT_NE(natural_key({"a", ""}), natural_key({"a"}));
  EXPECT_NE(natural_key({"", "a"}), natural_key({"a", ""}));
}

TEST(NaturalKey, NeedsAPart) {
  EXPECT_THROW(natural_key({}), Misuse);
}

TEST(GuardedUpsert, IsOneStatementWithParameters) {
  const GuardedUpsert upsert{
      "shop.pay\"ments", {"id"}, {"status", "amount"}, "status", {"paid", "can't"}};
  EXPECT_EQ(guarded_upsert(upsert, Dialect::postgresql),
            R"sql(INSERT INTO "shop"."pay""ments" AS standing ("id", "status", "amount") )sql"
            R"sql(VALUES ($1, $2, $3) ON CONFLICT ("id") DO UPDATE SET )sql"
            R"sql("status" = excluded."status", "amount" = excluded."amount" )sql"
            R"sql(WHERE standing."status" IS NULL OR )sql"
            R"sql(standing."status" NOT IN ('paid', 'can''t'))sql");
  EXPECT_NE(guarded_upsert(upsert, Dialect::sqlite).find("VALUES (?1, ?2, ?3)"), std::string::npos);
}

TEST(GuardedUpsert, RefusesADescriptionThatGuardsNothing) {
  const GuardedUpsert good{"t", {"id"}, {"status"}, "status", {"paid"}};
  GuardedUpsert upsert = good;
  upsert.key = {};
  EXPECT_THROW(guarded_upsert(upsert, Dialect::sqlite), Misuse);
  upsert = good;
  upsert.state = "stage";
  EXPECT_THROW(guarded_upsert(upsert, Dialect::sqlite), Misuse);
  upsert = good;
  upsert.final_states = {};
  EXPECT_THROW(guarded_upsert(upsert, Dialect::sqlite), Misuse);
  upsert = good;
  upsert.values.push_back(std::string("a\0b", 3));
  EXPECT_THROW(guarded_upsert(upsert, Dialect::sqlite), Misuse);
}

}  // namespace
}  // namespace oncekey
