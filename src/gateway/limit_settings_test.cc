#include "gateway/limit_settings.h"

#include <gtest/gtest.h>

#include "gateway/config_file.h"

namespace oncekey::gateway {
namespace {

LoadedConfig loaded(const std::string& text) {
  Result<LoadedConfig, ConfigErrors> result = parse_config(text, "a.toml");
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().front().message);
  return result.ok() ? *result : LoadedConfig{};
}

std::string first_error(const std::string& text) {
  Result<LoadedConfig, ConfigErrors> result = parse_config(text, "a.toml");
  return result.ok() ? "" : result.error().front().message;
}

bool warns_of(const LoadedConfig& config, const std::string& words) {
  for (const ConfigError& warning : config.warnings) {
    if (warning.message.find(words) != std::string::npos) return true;
  }
  return false;
}

TEST(LimitSettings, AreOffByDefault) {
  const Limits limits = loaded("").config.limits;
  EXPECT_EQ(new_key_rate(limits, "a").per_second, 0u);
  EXPECT_EQ(live_key_rules(limits, "a").max, 0u);
}

TEST(LimitSettings, AnswersThatASharedStoreCouldNotTakeInTimeAreNotPromised) {
  const std::string route = "[[route]]\nmatch = \"POST *\"\nresponse_limit = \"65MiB\"\n";
  EXPECT_EQ(first_error(route), "");
  for (const std::string store : {"postgres://db/oncekey", "redis://cache"}) {
    const std::string error = first_error("store = \"" + store + "\"\n" + route);
    EXPECT_NE(error.find("at most 64MiB"), std::string::npos) << error;
  }
}

TEST(LimitSettings, BurstIsOneSecondsKeysUnlessSaid) {
  EXPECT_EQ(new_key_rate(loaded("[limits]\nnew_keys_per_second = 7\n").config.limits, "a").burst,
            7u);
  const std::string text = "[limits]\nnew_keys_per_second = 7\nnew_keys_burst = 30\n";
  EXPECT_EQ(new_key_rate(loaded(text).config.limits, "a").burst, 30u);
}

TEST(LimitSettings, TenantMayDiffer) {
  const Limits limits = loaded(R"(
[limits]
new_keys_per_second = 10
new_keys_burst = 20
live_keys_max = 1000
[[limits.tenant]]
name = "big"
new_keys_per_second = 100
[[limits.tenant]]
name = "free"
new_keys_per_second = 0
live_keys_max = 5
)")
                            .config.limits;
  EXPECT_EQ(new_key_rate(limits, "other").per_second, 10u);
  EXPECT_EQ(new_key_rate(limits, "other").burst, 20u);
  EXPECT_EQ(new_key_rate(limits, "big").per_second, 100u);
  EXPECT_EQ(new_key_rate(limits, "big").burst, 100u);
  EXPECT_EQ(live_key_rules(limits, "big").max, 1000u);
  EXPECT_EQ(new_key_rate(limits, "free").per_second, 0u);
  EXPECT_EQ(live_key_rules(limits, "free").max, 5u);
  EXPECT_EQ(first_error("[[limits.tenant]]\nname=\"a\"\n[[limits.tenant]]\nname=\"a\"\n"),
            "name: \"a\" has limits already");
  EXPECT_EQ(first_error("[[limits.tenant]]\nlive_keys_max=1\n"), "name is missing");
}

TEST(LimitSettings, WindowMustEndBeforeItsKeysAreForgotten) {
  const std::string route = "[[route]]\nmatch = \"POST *\"\n";
  const std::string error = first_error(route + "max_age = \"24h\"\n");
  EXPECT_NE(error.find("its key is remembered for 1d only"), error.npos) << error;
  EXPECT_EQ(first_error(route + "max_age = \"24h\"\nage_leeway = \"0s\"\n"), "");
  EXPECT_EQ(first_error(route + "max_age = \"24h\"\non_expired = \"tombstone\"\n"), "");
  EXPECT_EQ(first_error(route + "max_age = \"24h\"\nretention = \"25h\"\n"), "");
  EXPECT_TRUE(warns_of(loaded(route + "age_header = \"X-Sent\"\n"), "no effect without max_age"));
  EXPECT_TRUE(warns_of(loaded(route + "max_age = \"5m\"\nage_required = false\n"), "no age limit"));
}

TEST(LimitSettings, AsyncIsTrueFalseOrAllowed) {
  const std::string route = "[[route]]\nmatch = \"POST *\"\n";
  EXPECT_EQ(loaded(route).config.routes[0].async, AsyncUse::off);
  EXPECT_EQ(loaded(route + "async = false\n").config.routes[0].async, AsyncUse::off);
  EXPECT_EQ(loaded(route + "async = true\n").config.routes[0].async, AsyncUse::always);
  EXPECT_EQ(loaded(route + "async = \"allowed\"\n").config.routes[0].async, AsyncUse::allowed);
  EXPECT_NE(first_error(route + "async = \"maybe\"\n"), "");
}

}  // namespace
}  // namespace oncekey::gateway
