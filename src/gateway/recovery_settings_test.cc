#include "gateway/recovery_settings.h"

#include <gtest/gtest.h>

#include "gateway/config_describe.h"
#include "gateway/config_file.h"
#include "gateway/route_probes.h"

namespace oncekey::gateway {
namespace {

std::string problems(const std::string& text) {
  const auto loaded = parse_config(text, "f.toml");
  std::string out;
  for (const ConfigError& error : loaded ? loaded->warnings : loaded.error()) {
    if (error.message == "no upstream is set") continue;
    out += (out.empty() ? "" : "\n") + to_string(error);
  }
  return out;
}

std::string route(const std::string& probe, const std::string& more = "") {
  return more + "[[route]]\nmatch = \"POST,PATCH *\"\nprobe = " + probe + "\n";
}

struct Wrong {
  std::string text;
  std::string problem;
};
class WrongRecoverySetting : public testing::TestWithParam<Wrong> {};

TEST_P(WrongRecoverySetting, IsReportedWithItsPlace) {
  EXPECT_EQ(problems(GetParam().text), GetParam().problem);
}

INSTANTIATE_TEST_SUITE_P(
    Each, WrongRecoverySetting,
    testing::Values(
        Wrong{route("{ get = \"/x\" }"),
              "f.toml:3:17: probe.get: names no key, so every record would get the same answer\n"
              "  hint: \"/payments?idempotency_key={key}\""},
        Wrong{route("{ get = \"/x?k={kye}\" }"),
              "f.toml:3:17: probe.get: there is no placeholder {kye}\n"
              "  hint: {key}, {scope} or {derived:PHASE}"},
        Wrong{route("{ get = \"payments?k={key}\" }"),
              "f.toml:3:17: probe.get: \"payments?k={key}\" is not "
              "http://host[:port][/path][?query], nor that with https://\n"
              "  hint: \"/payments?idempotency_key={key}\", or a URL that begins with http:// or "
              "https://"},
        Wrong{route("{ every = \"30s\" }"),
              "f.toml:3:19: probe: get is missing\n"
              "  hint: probe = { get = \"/payments?idempotency_key={key}\" }"},
        Wrong{route("{ gte = \"/x?k={key}\" }"),
              "f.toml:3:11: unknown key \"probe.gte\"\n  hint: did you mean \"probe.get\"?"},
        Wrong{route("{ get = \"/x?k={key}\", executed = 200, absent = 200 }"),
              "f.toml:3:56: probe.absent: is the same status as probe.executed\n"
              "  hint: probe.found = \"/data/0\" tells a list that is empty from one that is not"},
        Wrong{route("{ get = \"/x?k={key}\", state = \"/status\" }"),
              "f.toml:3:39: probe.state: no value of it means executed\n"
              "  hint: probe.executed_states = [\"succeeded\"]"},
        Wrong{route("{ get = \"/x?k={key}\", headers = [\"Authorization\"] }"),
              "f.toml:3:42: probe.headers: \"Authorization\" is not a header\n"
              "  hint: \"X-Tenant: {scope}\""},
        Wrong{route("{ get = \"/x?k={key}\", absent_after = \"1s\" }"),
              "f.toml:3:46: probe.absent_after: 1s is less than upstream_timeout (30s): a request "
              "that is still being worked on would be taken for one that never came, and run "
              "again\n  hint: absent_after = \"1m\""},
        Wrong{route("{ get = \"/x?k={key}\" }", "[tenant]\nfrom = \"header\"\n"),
              "f.toml:5:17: probe.get: does not name the tenant, so one could get another's "
              "answer\n  hint: probe.headers = [\"X-Tenant: {scope}\"], or {scope} in probe.get"},
        Wrong{"[webhook]\nkey = \"/key\"\n",
              "f.toml:2:7: webhook.key has no effect without webhook.listen"},
        Wrong{"[webhook]\nlisten = \"127.0.0.1:9000\"\nkey = \"/key\"\nexecuted_types = [\"a\"]\n",
              "f.toml:2:10: webhook.listen: secret_file is missing: anybody could settle records\n"
              "  hint: secret_file = \"webhook.secret\", a file with the provider's whsec_… in it"},
        Wrong{"[webhook]\nlisten = \"127.0.0.1:9000\"\nsecret_file = \"s\"\n"
              "executed_types = [\"a\"]\nderived = \"/key\"\n",
              "f.toml:2:10: webhook.listen: derived from which phase?\n  hint: phase = \"charge\""},
        Wrong{"[ledger]\nget = \"http://p/ledger\"\n",
              "f.toml:2:7: ledger.get: has no {after}, so only the first page would ever be read\n"
              "  hint: \"http://provider/ledger?after={after}\""},
        Wrong{"[ledger]\nget = \"http://p/ledger?after={after}\"\nwindow = \"1m\"\n",
              "f.toml:3:10: ledger.window: is no longer than ledger.margin\n"
              "  hint: window = \"24h\""},
        Wrong{"[ledger]\nget = \"http://p/ledger?after={after}\"\nmatch = \"payments\"\n",
              "f.toml:3:9: ledger.match: \"payments\" is not a method in capital letters\n"
              "  hint: write it as \"POST,PATCH /payments/*\", without space after the comma"}));

TEST(RecoverySettings, ProbeOfTheContractIsUnderstood) {
  const auto loaded = parse_config(
      "upstream = \"http://127.0.0.1:3000/base/\"\n[[route]]\nmatch = \"POST /payments/*\"\n"
      "upstream_timeout = \"90s\"\n"
      "probe = { get = \"/payments?idempotency_key={key}\", executed = 200, absent = 404, every = "
      "\"30s\" }\n[[route]]\nmatch = \"POST,PATCH *\"\n",
      "f.toml");
  ASSERT_TRUE(loaded) << to_string(loaded.error()[0]);
  const RouteTable routes(loaded->config.routes);
  const RouteProbes probes(loaded->config, routes);
  EXPECT_TRUE(probes.any());
  Record record;
  record.method = "POST";
  record.path = "/payments/7";
  const recovery::ProbeRules* rules = probes.of(record);
  ASSERT_NE(rules, nullptr);
  EXPECT_EQ(rules->get, "http://127.0.0.1:3000/base/payments?idempotency_key={key}");
  EXPECT_EQ(rules->absent_after_ms, 180'000) << "longer than the upstream may take";
  EXPECT_EQ(rules->answer.replay_headers, default_replay_headers());
  record.path = "/orders";
  EXPECT_EQ(probes.of(record), nullptr);
}

TEST(RecoverySettings, AreShownOnlyWhereTheyAreSet) {
  EXPECT_EQ(describe(Config{}).find("webhook"), std::string::npos);
  Config config;
  config.ledger.rules.get = "http://p/ledger?after={after}";
  EXPECT_NE(describe(config).find("ledger.get"), std::string::npos);
  EXPECT_EQ(describe(config).find("ledger.items"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::gateway
