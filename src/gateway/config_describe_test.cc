#include "gateway/config_describe.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "gateway/config_file.h"
#include "gateway/config_settings.h"

namespace oncekey::gateway {
namespace {

Config parsed(std::string_view text) {
  Result<LoadedConfig, ConfigErrors> result = parse_config(text, "f.toml");
  if (!result) {
    for (const ConfigError& error : result.error()) ADD_FAILURE() << to_string(error);
    return {};
  }
  return result.value().config;
}

TEST(Rules, UpstreamMayBeRequired) {
  auto result = finish_config({}, Upstream::required);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().at(0).message, "no upstream is set");
}

TEST(Describe, ShowsEverySettingAndWhatDiffersInARoute) {
  const std::string text = describe(
      parsed("upstream = \"http://a:1\"\n[[route]]\nmatch = \"POST /x\"\nprofile = \"stripe\"\n"
             "status = { mismatch = 409 }"));
  EXPECT_NE(text.find("upstream                          \"http://a:1\"\n"), text.npos) << text;
  EXPECT_NE(text.find("\nroute 1  POST /x\n"), text.npos) << text;
  EXPECT_NE(text.find("  profile                \"stripe\"\n"), text.npos) << text;
  EXPECT_NE(text.find("  status.mismatch        409\n"), text.npos) << text;
  EXPECT_EQ(text.find("on_5xx"), text.npos) << text;
}

TEST(Describe, JsonIsAConfigurationInItself) {
  const std::string json = describe_json(parsed(""));
  EXPECT_NE(json.find("\"log\":{\"level\":\"info\",\"format\":\"json\"}"), json.npos) << json;
  EXPECT_NE(json.find("\"status\":{\"mismatch\":422,\"in_flight\":409,\"unknown\":409,"
                      "\"expired\":410}"),
            json.npos)
      << json;
}

std::string source_file(const std::string& name) {
  std::ifstream file(std::string(ONCEKEY_SOURCE_DIR) + "/" + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Example, IsLoadedWithoutErrorsOrWarnings) {
  auto result = load_config_file(std::string(ONCEKEY_SOURCE_DIR) + "/oncekey.example.toml");
  ASSERT_TRUE(result.ok()) << to_string(result.error().front());
  for (const ConfigError& warning : result.value().warnings) ADD_FAILURE() << to_string(warning);
}

TEST(Documentation, NamesEveryKeyWithItsDefault) {
  const std::string page = source_file("docs/configuration.md");
  const Config defaults;
  for (const Setting<Config>& setting : gateway_settings()) {
    const std::string row =
        "| `" + std::string(setting.name) + "` | `" + to_literal(setting.get(defaults)) + "` |";
    EXPECT_NE(page.find(row), page.npos) << "docs/configuration.md lacks: " << row;
  }
  for (const Setting<RouteConfig>& setting : route_settings()) {
    const std::string row = "| `" + std::string(setting.name) + "` |";
    EXPECT_NE(page.find(row), page.npos) << "docs/configuration.md lacks: " << row;
  }
}

TEST(Documentation, ExampleSetsEveryRouteKeyOnce) {
  const std::string example = source_file("oncekey.example.toml");
  for (const Setting<RouteConfig>& setting : route_settings()) {
    const std::string name(setting.name.substr(setting.name.rfind('.') + 1));
    EXPECT_NE(example.find(name + " = "), example.npos) << name;
  }
}

TEST(ConfigDescribe, StoresPasswordIsNotShown) {
  Config config;
  config.store = "postgres://me:hunter2@db/shop";
  for (const std::string& text : {describe(config), describe_json(config)}) {
    EXPECT_EQ(text.find("hunter2"), text.npos) << text;
    EXPECT_NE(text.find("postgres://me:***@db/shop"), text.npos) << text;
  }
}

}  // namespace
}  // namespace oncekey::gateway
