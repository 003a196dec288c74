// What `oncekey check` says of how a Redis is set up.
#include "store/redis_facts.h"

#include <algorithm>
#include <map>

#include "redis_trouble.h"

namespace oncekey::store {
namespace {

TEST(RedisFacts, SayWhatIsUnsafe) {
  test::RedisServer server({.maxmemory = "50mb", .maxmemory_policy = "allkeys-lru"});
  const auto facts = redis_facts({.url = server.url()});
  ASSERT_TRUE(facts.ok());
  std::map<std::string, Fact::Grade> grades;
  for (const Fact& fact : *facts) {
    grades[fact.name] = fact.grade;
    EXPECT_FALSE(fact.value.empty()) << fact.name;
    EXPECT_FALSE(fact.meaning.empty()) << fact.name;
  }
  EXPECT_EQ(grades["version"], Fact::Grade::good);
  EXPECT_EQ(grades["role"], Fact::Grade::good);
  EXPECT_EQ(grades["appendonly"], Fact::Grade::good);
  EXPECT_EQ(grades["appendfsync"], Fact::Grade::warning);
  EXPECT_EQ(grades["maxmemory"], Fact::Grade::good);
  EXPECT_EQ(grades["maxmemory-policy"], Fact::Grade::error);
}

TEST(RedisFacts, AboutItsMemoryDoNotContradictEachOther) {
  test::RedisServer server({.maxmemory = "50mb", .maxmemory_policy = "allkeys-lru"});
  const auto maxmemory = [&] {
    const auto facts = redis_facts({.url = server.url()});
    EXPECT_TRUE(facts.ok()) << facts.error();
    return *std::find_if(facts->begin(), facts->end(),
                         [](const Fact& fact) { return fact.name == "maxmemory"; });
  };
  EXPECT_EQ(maxmemory().meaning.find("nothing is forgotten"), std::string::npos);
  server.command({"CONFIG", "SET", "maxmemory-policy", "noeviction"});
  EXPECT_NE(maxmemory().meaning.find("nothing is forgotten"), std::string::npos);
  EXPECT_EQ(maxmemory().grade, Fact::Grade::good);
  server.command({"CONFIG", "SET", "maxmemory", "1"});
  EXPECT_EQ(maxmemory().grade, Fact::Grade::warning);
  EXPECT_NE(maxmemory().meaning.find("is full"), std::string::npos) << maxmemory().meaning;
}

TEST(RedisFacts, OfACacheMindNoEvictionAndNoLoss) {
  test::RedisServer server({.maxmemory = "50mb", .maxmemory_policy = "allkeys-lru"});
  const auto facts = redis_facts({.url = server.url()}, RedisUse::cache);
  ASSERT_TRUE(facts.ok());
  bool has_policy = false;
  for (const Fact& fact : *facts) {
    EXPECT_EQ(fact.grade, Fact::Grade::good) << fact.name << ": " << fact.meaning;
    EXPECT_EQ(fact.meaning.find("run again"), std::string::npos) << fact.name;
    has_policy = has_policy || (fact.name == "maxmemory-policy" && fact.value == "allkeys-lru");
  }
  EXPECT_TRUE(has_policy);
}

}  // namespace
}  // namespace oncekey::store
