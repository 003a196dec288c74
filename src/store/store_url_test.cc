#include "store/store_url.h"

#include <gtest/gtest.h>

namespace oncekey::store {
namespace {

using Kind = StoreUrl::Kind;

TEST(StoreUrl, NamesEveryKind) {
  EXPECT_EQ(parse_store_url("memory:")->kind, Kind::memory);
  EXPECT_EQ(parse_store_url("rocksdb:./data")->path, "./data");
  EXPECT_EQ(parse_store_url("postgres://u@h/d")->postgres, "postgres://u@h/d");
  EXPECT_EQ(parse_store_url("postgresql://h/d")->kind, Kind::postgres);
  EXPECT_EQ(parse_store_url("redis://h:1/2")->redis, "redis://h:1/2");
  EXPECT_EQ(parse_store_url("redis+cluster://a:1,b:2")->kind, Kind::redis);
  EXPECT_FALSE(parse_store_url("rocksdb:./data")->shared());
  EXPECT_TRUE(parse_store_url("redis://h")->shared());
}

TEST(StoreUrl, TakesTieredApart) {
  for (const std::string redis : {"redis://h:1/2?wait=1", "redis+cluster://a:1,b:2"}) {
    const auto url = parse_store_url("postgres://u:p+x@h/d?sslmode=require+" + redis);
    ASSERT_TRUE(url);
    EXPECT_EQ(url->kind, Kind::tiered);
    EXPECT_EQ(url->postgres, "postgres://u:p+x@h/d?sslmode=require");
    EXPECT_EQ(url->redis, redis);
  }
}

TEST(StoreUrl, TakesSqliteApart) {
  const auto own = parse_store_url("sqlite:/var/lib/oncekey.db");
  ASSERT_TRUE(own);
  EXPECT_EQ(own->kind, Kind::sqlite);
  EXPECT_EQ(own->path, "/var/lib/oncekey.db");
  EXPECT_FALSE(own->shared());
  const auto shared = parse_store_url("sqlite:service.db?shared=1");
  ASSERT_TRUE(shared);
  EXPECT_EQ(shared->path, "service.db");
  EXPECT_TRUE(shared->shared());
}

// What libpq or Redis would only say when it connects, and then without naming the mistake.
TEST(StoreUrl, NamesTheOptionOrPortThatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"postgres://u:geheim@h/d?sslmod=require", "\"sslmod\""},
      {"postgres://u@h/d?wait=1", "\"wait\""},
      {"postgres://u@h/%ZZ", "%ZZ"},
      {"postgres://u@h:99999/d", "port"},
      {"postgres://u@h:1,i:x/d", "port"},
      {"postgres://u@h/d?sslmode=requre", "sslmode must be"},
      {"postgres://u:geheim@x@h/d", "percent-encode"},
      {"postgres://u:geheim/x@h/d", "percent-encode"},
      {"postgres://u:12/geheim@h/d", "percent-encode"},
      {"postgres://u:geheim%ZZ@h/d", "percent-encode"},
      {"postgres://h/d?password=x&geheim", "percent-encode"},
      {"redis://h?wiat=1", "\"wiat\""},
      {"redis://h:99999", "port"},
      {"postgres://u@h/d+redis://h:x", "port"},
      {"postgres://u@h/d+redis+cluster://h/1", "only database 0"}};
  for (const auto& [text, part] : cases) {
    const auto url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find(part), std::string::npos) << url.error().message;
    EXPECT_EQ(url.error().message.find("geheim"), std::string::npos) << url.error().message;
  }
  for (const char* good :
       {"postgres://u@h:1,i:2,j/d?sslmode=verify-full", "postgres:///d?host=/run/postgresql",
        "postgres://u:a?b+c@h/d", "postgres://u@h:,i:5/d"}) {
    EXPECT_TRUE(parse_store_url(good)) << good;
  }
}

TEST(StoreUrl, OnlyRedisCanStandBehindThePlus) {
  for (const char* text :
       {"postgres://a@h/d+memory:", "postgres://a@h+memory:", "postgres://a@h/d+rocksdb:./x",
        "postgres://a@h/d+postgres://h/e", "postgres://a@h/d+redis:h",
        "postgres://a@h/d?sslmode=require+sqlite:x"}) {
    const auto url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_NE(url.error().message.find("redis+cluster://"), std::string::npos) << text;
  }
  EXPECT_TRUE(parse_store_url("postgres://a@h/d+e")) << "a database may have such a name";
  EXPECT_TRUE(parse_store_url("postgres://a:x+y:z@h/d"));
}

TEST(StoreUrl, RefusesWithoutShowingThePassword) {
  for (const char* text :
       {"", "data", "mysql://u:geheim@h/d", "memory:x", "rocksdb:", "rediss://:geheim@h",
        "redis://:geheim@h+postgres://h/d", "postgres://u:geheim@h/d+rediss://h",
        "sqlite:", "sqlite:?shared=1", "sqlite://h/d", "sqlite::memory:", "sqlite:x?mode=ro"}) {
    const auto url = parse_store_url(text);
    ASSERT_FALSE(url) << text;
    EXPECT_FALSE(url.error().message.empty());
    EXPECT_EQ(url.error().message.find("geheim"), std::string::npos);
    EXPECT_EQ(url.error().hint.find("geheim"), std::string::npos);
  }
}

}  // namespace
}  // namespace oncekey::store
