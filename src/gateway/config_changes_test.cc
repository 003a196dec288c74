#include "gateway/config_changes.h"

#include <gtest/gtest.h>

#include "gateway/config_file.h"

namespace oncekey::gateway {
namespace {

using Names = std::vector<std::string>;

constexpr const char* base = R"(
upstream = "http://127.0.0.1:3000"
store = "memory:"
[timeouts]
idle = "30s"
[[route]]
match = "POST /orders"
[[route]]
match = "POST,PATCH *"
)";

Config parsed(const std::string& text) {
  auto loaded = parse_config(text, "oncekey.toml");
  EXPECT_TRUE(loaded.ok()) << (loaded.ok() ? "" : to_string(loaded.error().front()));
  return loaded->config;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos);
  return text.replace(at, from.size(), to);
}

TEST(ConfigChanges, TheSameFileHasNone) {
  const ConfigChanges changes = compare(parsed(base), parsed(base), true);
  EXPECT_EQ(changes.changed, Names{});
  EXPECT_EQ(changes.needs_restart, Names{});
}

TEST(ConfigChanges, NamesWhatAReloadCanChange) {
  const std::string text = with(with(base, "30s", "31s"), "3000", "3001");
  const ConfigChanges changes = compare(parsed(base), parsed(text), true);
  EXPECT_EQ(changes.changed, (Names{"upstream", "timeouts.idle"}));
  EXPECT_EQ(changes.needs_restart, Names{});
}

TEST(ConfigChanges, NamesWhatNeedsARestart) {
  const std::string text = with(base, "store = \"memory:\"", "store = \"rocksdb:x\"\nthreads = 2");
  const ConfigChanges changes = compare(parsed(base), parsed(text), false);
  EXPECT_EQ(changes.needs_restart, (Names{"store", "threads"}));
  EXPECT_EQ(restart_needed(changes),
            "store, threads: differ from what is in force, and only a restart can change them");
}

TEST(ConfigChanges, NamesTheSettingsOfARouteThatStayedInPlace) {
  const std::string text = with(base, "\"POST /orders\"", "\"POST /orders\"\nretention = \"1h\"");
  const ConfigChanges changes = compare(parsed(base), parsed(text), false);
  EXPECT_EQ(changes.changed, Names{"route 1 (POST /orders): retention"});
}

TEST(ConfigChanges, RoutesThatMovedAreNamedAsAWhole) {
  const std::string text = with(base, "[[route]]\nmatch = \"POST /orders\"\n", "");
  EXPECT_EQ(compare(parsed(base), parsed(text), false).changed, Names{"routes"});
}

TEST(ConfigChanges, ASharedStoreKeepsTheTimeItWasOpenedWith) {
  const Config slower = parsed(with(base, "idle = \"30s\"", "idle = \"30s\"\nstore = \"1s\""));
  EXPECT_EQ(compare(parsed(base), slower, true).needs_restart, Names{"timeouts.store"});
  EXPECT_EQ(compare(parsed(base), slower, false).needs_restart, Names{});
}

TEST(ConfigChanges, TenantsStayWhileWebhooksAreReceived) {
  Config before = parsed(base);
  Config after = before;
  after.tenant.name = "other";
  EXPECT_EQ(compare(before, after, false).needs_restart, Names{});
  before.webhook.listen = after.webhook.listen = "127.0.0.1:9";
  EXPECT_EQ(compare(before, after, false).needs_restart, Names{"tenant.name"});
}

TEST(ConfigChanges, OtherCommandsSettingsAreTheirs) {
  Config after = parsed(base);
  after.worker.grace_ms += 1;
  EXPECT_EQ(compare(parsed(base), after, false).changed, Names{});
}

TEST(ConfigChanges, LimitsOfOneTenantAreNamed) {
  Config before = parsed(base);
  before.limits.tenants.push_back({.name = "acme", .live_keys_max = 5});
  Config after = before;
  EXPECT_EQ(compare(before, after, false).changed, Names{});
  after.limits.tenants[0].live_keys_max = 6;
  EXPECT_EQ(compare(before, after, false).changed, Names{"limits.tenant"});
}

TEST(ConfigChanges, ASettingThatIsNotKnownNeedsARestart) {
  EXPECT_FALSE(reloadable("a_setting_of_the_future"));
  EXPECT_FALSE(reloadable("timeouts"));
  EXPECT_TRUE(reloadable("timeouts.idle"));
}

}  // namespace
}  // namespace oncekey::gateway
