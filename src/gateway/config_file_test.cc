#include "gateway/config_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "gateway/config_describe.h"
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

// All errors, one a line, as they are printed.
std::string errors_of(std::string_view text) {
  Result<LoadedConfig, ConfigErrors> result = parse_config(text, "f.toml");
  std::string all;
  if (result) return "accepted";
  for (const ConfigError& error : result.error())
    all += (all.empty() ? "" : "\n") + to_string(error);
  return all;
}

std::string warnings_of(std::string_view text) {
  Result<LoadedConfig, ConfigErrors> result = parse_config(text, "f.toml");
  std::string all;
  if (!result) return "refused: " + to_string(result.error().front());
  for (const ConfigError& warning : result.value().warnings) {
    if (warning.message == "no upstream is set") continue;
    all += (all.empty() ? "" : "\n") + to_string(warning);
  }
  return all;
}

TEST(ConfigFile, EmptyFileGivesTheDefaultsAndTheDefaultRoute) {
  const Config config = parsed("");
  EXPECT_EQ(config.listen, "127.0.0.1:8080");
  EXPECT_EQ(config.admin, "127.0.0.1:8081");
  EXPECT_EQ(config.store, "rocksdb:./oncekey-data");
  ASSERT_EQ(config.routes.size(), 1u);
  EXPECT_EQ(config.routes[0].match, "POST,PATCH *");
  EXPECT_EQ(config.routes[0].lease_ms, 60'000);
}

TEST(ConfigFile, EveryKeyOfTheDesignIsRead) {
  const Config config = parsed(R"(
listen = "0.0.0.0:80"
admin = "127.0.0.1:81"
upstream = "http://10.0.0.1:3000/base"
store = "rocksdb:/var/lib/oncekey"
[tenant]
from = "header"
header = "X-Account"
[[route]]
match = "POST,PUT /payments/*"
key = "optional"
key_header = "X-Idempotency-Key"
key_syntax = "strict"
key_min_length = 8
profile = "stripe"
status = { mismatch = 409, in_flight = 425, unknown = 503, expired = 404 }
retention = "7d"
lease = "90s"
upstream_timeout = "500ms"
body_limit = "64KiB"
response_limit = 1000
on_inflight = "wait"
on_5xx = "unknown"
on_expired = "tombstone"
fingerprint = { include = ["/amount"], exclude = ["/clientTimestamp", "/a~1b"] }
)");
  EXPECT_EQ(config.listen, "0.0.0.0:80");
  EXPECT_EQ(config.admin, "127.0.0.1:81");
  EXPECT_EQ(config.upstream, "http://10.0.0.1:3000/base");
  EXPECT_EQ(config.store, "rocksdb:/var/lib/oncekey");
  EXPECT_EQ(config.tenant.from, TenantFrom::header);
  EXPECT_EQ(config.tenant.header, "X-Account");
  ASSERT_EQ(config.routes.size(), 1u);
  const RouteConfig& route = config.routes[0];
  EXPECT_EQ(route.methods, (std::vector<std::string>{"POST", "PUT"}));
  EXPECT_EQ(route.path, "/payments/*");
  EXPECT_EQ(route.key, KeyUse::optional);
  EXPECT_EQ(route.key_header, "X-Idempotency-Key");
  EXPECT_EQ(route.key_policy.syntax, KeySyntax::strict);
  EXPECT_EQ(route.key_policy.length_min, 8u);
  EXPECT_EQ(route.profile, Profile::stripe);
  EXPECT_EQ(route.statuses.mismatch, 409);
  EXPECT_EQ(route.statuses.in_flight, 425);
  EXPECT_EQ(route.statuses.unknown, 503);
  EXPECT_EQ(route.statuses.expired, 404);
  EXPECT_EQ(route.retention_ms, 7LL * 24 * 3600 * 1000);
  EXPECT_EQ(route.lease_ms, 90'000);
  EXPECT_EQ(route.upstream_timeout_ms, 500);
  EXPECT_EQ(route.body_limit, 65'536u);
  EXPECT_EQ(route.response_limit, 1'000u);
  EXPECT_EQ(route.on_inflight, OnInflight::wait);
  EXPECT_EQ(route.on_5xx, On5xx::unknown);
  EXPECT_EQ(route.on_expired, OnExpired::tombstone);
  EXPECT_EQ(route.fingerprint.include, (std::vector<std::string>{"/amount"}));
  EXPECT_EQ(route.fingerprint.exclude, (std::vector<std::string>{"/clientTimestamp", "/a~1b"}));
}

TEST(ConfigFile, FurtherKeysAreRead) {
  const Config config = parsed(R"(
secret_file = "/run/secret"
policy_url = "https://docs.example/idempotency"
threads = 3
forwarded = false
trust_forwarded = true
upgrade = "pass"
replay_cache = "1GiB"
replay_trust = "5s"
log = { level = "debug", format = "text" }
tenant = { from = "api_key", api_key_header = "X-Api-Key", api_key_allow_jwt = true }
limits = { header_block = "16KiB", header_count = 50, connections = 7, upstream_connections_idle = 9 }
timeouts = { header = "1s", body = "2s", idle = "3s", connect = "4s", upstream_idle = "5s", write = "6s", store = "7s", grace = "8s" }
[[route]]
match = "POST *"
key_pointer = "/idempotency_key"
key_max_length = 64
key_personal_data = "refuse"
wait_timeout = "3s"
tombstone = "2d"
replay_headers = ["Location", "X-Thing"]
)");
  EXPECT_EQ(config.secret_file, "/run/secret");
  EXPECT_EQ(config.policy_url, "https://docs.example/idempotency");
  EXPECT_EQ(config.threads, 3u);
  EXPECT_FALSE(config.forwarded);
  EXPECT_TRUE(config.trust_forwarded);
  EXPECT_EQ(config.upgrade, UpgradeUse::pass);
  EXPECT_EQ(config.replay_cache_bytes, 1u << 30);
  EXPECT_EQ(config.replay_trust_ms, 5'000);
  EXPECT_EQ(config.log_level, LogLevel::debug);
  EXPECT_EQ(config.log_format, LogFormat::text);
  EXPECT_EQ(config.tenant.from, TenantFrom::api_key);
  EXPECT_EQ(config.tenant.api_key_header, "X-Api-Key");
  EXPECT_TRUE(config.tenant.api_key_allow_jwt);
  EXPECT_EQ(config.limits.header_block, 16u << 10);
  EXPECT_EQ(config.limits.header_count, 50u);
  EXPECT_EQ(config.limits.connections, 7u);
  EXPECT_EQ(config.limits.upstream_connections_idle, 9u);
  EXPECT_EQ(config.timeouts.header_ms, 1'000);
  EXPECT_EQ(config.timeouts.body_ms, 2'000);
  EXPECT_EQ(config.timeouts.idle_ms, 3'000);
  EXPECT_EQ(config.timeouts.connect_ms, 4'000);
  EXPECT_EQ(config.timeouts.upstream_idle_ms, 5'000);
  EXPECT_EQ(config.timeouts.write_ms, 6'000);
  EXPECT_EQ(config.timeouts.store_ms, 7'000);
  EXPECT_EQ(config.timeouts.grace_ms, 8'000);
  const RouteConfig& route = config.routes.at(0);
  EXPECT_EQ(route.key_pointer, "/idempotency_key");
  EXPECT_EQ(route.key_policy.length_max, 64u);
  EXPECT_EQ(route.key_policy.personal_data, PersonalData::refuse);
  EXPECT_EQ(route.wait_timeout_ms, 3'000);
  EXPECT_EQ(route.tombstone_ms, 2LL * 24 * 3600 * 1000);
  EXPECT_EQ(route.replay_headers, (std::vector<std::string>{"location", "x-thing"}));
}

struct Wrong {
  const char* text;
  const char* printed;
};

class WrongSetting : public testing::TestWithParam<Wrong> {};

TEST_P(WrongSetting, IsReportedWhereItStands) {
  EXPECT_EQ(errors_of(GetParam().text), GetParam().printed) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Gateway, WrongSetting,
    testing::Values(
        Wrong{"listen = ",
              "f.toml:1:10: not valid TOML: Error while parsing key-value pair: encountered "
              "end-of-file"},
        Wrong{"a = 1\na = 2",
              "f.toml:2:5: not valid TOML: Error while parsing key-value pair: cannot redefine "
              "existing integer 'a'"},
        Wrong{"lisen = \"a:1\"",
              "f.toml:1:1: unknown key \"lisen\"\n  hint: did you mean \"listen\"?"},
        Wrong{"\n  zebra = 1", "f.toml:2:3: unknown key \"zebra\""},
        Wrong{"log_level = \"info\"",
              "f.toml:1:1: unknown key \"log_level\"\n  hint: did you mean \"log.level\"?"},
        Wrong{"[timeouts]\nheeder = \"1s\"",
              "f.toml:2:1: unknown key \"timeouts.heeder\"\n  hint: did you mean "
              "\"timeouts.header\"?"},
        Wrong{"retention = \"1h\"",
              "f.toml:1:1: unknown key \"retention\"\n  hint: it belongs into a [[route]]"},
        Wrong{"listen = 8080", "f.toml:1:10: listen: expected a string, found an integer"},
        Wrong{"listen = \"8080\"",
              "f.toml:1:10: listen: \"8080\" has no port\n  hint: an address and a port, such as "
              "\"127.0.0.1:8080\""},
        Wrong{"listen = \":80\"",
              "f.toml:1:10: listen: \":80\" has no host\n  hint: an address and a port, such as "
              "\"127.0.0.1:8080\""},
        Wrong{"listen = \"h:99999\"",
              "f.toml:1:10: listen: \"99999\" is not a port\n  hint: an address and a port, such "
              "as \"127.0.0.1:8080\""},
        Wrong{"listen = \"::1:80\"",
              "f.toml:1:10: listen: \"::1\" is not a host; an IPv6 address stands in brackets\n  "
              "hint: an address and a port, such as \"127.0.0.1:8080\""},
        Wrong{"upstream = \"https://a:0\"",
              "f.toml:1:12: upstream: \"0\" is not a port\n  hint: \"http://host:port\""},
        Wrong{"upstream = \"a:80\"",
              "f.toml:1:12: upstream: \"a:80\" is not an upstream\n  hint: \"http://host:port\" or "
              "\"https://host:port\""},
        Wrong{"upstream = \"http://a:0\"",
              "f.toml:1:12: upstream: \"0\" is not a port\n  hint: \"http://host:port\""},
        Wrong{"upstream = \"http://u:p@a:1\"",
              "f.toml:1:12: upstream: \"u:p@a\" is not a host\n  hint: \"http://host:port\""},
        Wrong{"upstream = \"http://a:1/?x\"",
              "f.toml:1:12: upstream: an upstream has no query and no fragment\n  hint: "
              "\"http://host:port/base\""},
        Wrong{"store = \"sqlite:\"",
              "f.toml:1:9: store: the database's file is missing\n  hint: "
              "\"sqlite:./oncekey.db\", or \"sqlite:PATH?shared=1\""},
        Wrong{
            "store = \"rocksdb:\"",
            "f.toml:1:9: store: the store's folder is missing\n  hint: \"rocksdb:./oncekey-data\""},
        Wrong{"store = \"disk\"",
              "f.toml:1:9: store: it has no scheme\n  hint: "
              "\"rocksdb:PATH\", \"sqlite:PATH\", \"memory:\", \"postgres://HOST/DB\" (or "
              "postgresql://), "
              "\"redis://HOST\", \"redis+cluster://HOST,HOST\" or "
              "\"postgres://HOST/DB+redis://HOST\""},
        Wrong{"policy_url = \"x\"",
              "f.toml:1:14: policy_url: \"x\" is not a path or URL without fragment\n  hint: "
              "\"/.well-known/idempotency\""},
        Wrong{"threads = 65", "f.toml:1:11: threads: 65 is out of range: 0 to 64"},
        Wrong{"threads = -1", "f.toml:1:11: threads: -1 is out of range: 0 to 64"},
        Wrong{"threads = 1.5",
              "f.toml:1:11: threads: expected an integer, found a number with a fraction"},
        Wrong{"forwarded = \"yes\"",
              "f.toml:1:13: forwarded: expected true or false, found a string"},
        Wrong{"upgrade = \"pas\"",
              "f.toml:1:11: upgrade: \"pas\" is not one of \"refuse\", \"pass\"\n  hint: did you "
              "mean \"pass\"?"},
        Wrong{"replay_cache = \"1MB\"",
              "f.toml:1:16: replay_cache: \"1MB\" is not a size\n  hint: bytes as a whole number, "
              "or with B, KiB, MiB or GiB, such as \"64KiB\""},
        Wrong{"replay_cache = -5",
              "f.toml:1:16: replay_cache: \"-5\" is not a size\n  hint: bytes as a whole number, "
              "or with B, KiB, MiB or GiB, such as \"64KiB\""},
        Wrong{"[limits]\nheader_block = \"1B\"",
              "f.toml:2:16: limits.header_block: \"1B\" is out of range: 1KiB to 1MiB"},
        Wrong{"limits = 3",
              "f.toml:1:10: limits: expected a table, found an integer\n  hint: [limits]"},
        Wrong{"timeouts.header = 30",
              "f.toml:1:19: timeouts.header: a duration needs a unit\n  hint: \"30s\" for seconds; "
              "units are ms, s, m, h, d"},
        Wrong{"timeouts.header = \"soon\"",
              "f.toml:1:19: timeouts.header: \"soon\" is not a duration\n  hint: a whole number "
              "and ms, s, m, h or d, such as \"30s\""},
        Wrong{"timeouts.header = \"0s\"",
              "f.toml:1:19: timeouts.header: \"0s\" is out of range: 10ms to 1h"},
        Wrong{"timeouts.header = [1]",
              "f.toml:1:19: timeouts.header: expected a duration such as \"30s\", found a list"},
        Wrong{"log.level = \"trace\"",
              "f.toml:1:13: log.level: \"trace\" is not one of \"debug\", \"info\", \"warn\", "
              "\"error\", \"off\""},
        Wrong{
            "tenant.from = \"jtw\"",
            "f.toml:1:15: tenant.from: \"jtw\" is not one of \"single\", \"header\", \"api_key\", "
            "\"jwt\", \"mtls\"\n  hint: did you mean \"jwt\"?"},
        Wrong{"tenant.from = \"jwt\"",
              "f.toml:1:15: tenant.from: the file with the keys that verify tokens is missing\n"
              "  hint: tenant.keys = \"jwks.json\""},
        Wrong{"tenant.from = \"mtls\"",
              "f.toml:1:15: tenant.from: clients are not asked for certificates\n"
              "  hint: tls.client_certificates = \"required\""},
        Wrong{"tenant.secret = \"s\"",
              "f.toml:1:8: a secret does not stand in the configuration: tenant.keys names a file "
              "with it"},
        Wrong{"tenant.trusted = [\"10.0.0.0/8\", \"10.0.0.1/8\"]",
              "f.toml:1:33: tenant.trusted: \"10.0.0.1/8\" has bits set behind its prefix\n"
              "  hint: \"10.0.0.0/8\", \"192.0.2.7\" or \"::1\""},
        Wrong{"tenant.algorithms = [\"none\"]",
              "f.toml:1:22: tenant.algorithms: \"none\" is not one of \"HS256\", \"RS256\", "
              "\"ES256\""},
        Wrong{"tenant.claim = \"/a~2\"",
              "f.toml:1:16: tenant.claim: \"/a~2\" is not a JSON pointer (RFC 6901)\n  hint: ~ is "
              "written ~0 and / in a name is written ~1"},
        Wrong{"tenant.leeway = \"1h\"",
              "f.toml:1:17: tenant.leeway: \"1h\" is out of range: 0ms to 10m"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nscope = [\"route\"]",
              "f.toml:3:9: scope: does not have the tenant, and keys of two tenants must not meet\n"
              "  hint: scope = [\"tenant\", \"route\"]"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nscope = [\"tenant\", \"principal\"]",
              "f.toml:3:9: scope: nothing says who the principal is\n  hint: "
              "tenant.principal_header = \"X-User\", or with tokens tenant.principal_claim"},
        Wrong{"tenant.header = \"X Y\"",
              "f.toml:1:17: tenant.header: \"X Y\" is not a header's name\n  hint: letters, digits "
              "and -, at most 64, such as \"X-Tenant\""},
        Wrong{"tenant.name = \"key:1\"",
              "f.toml:1:15: tenant.name: \"key:1\" is not a tenant's name\n  hint: 1 to 128 "
              "visible ASCII characters without spaces, not starting with \"key:\""},
        Wrong{
            "admin = \"127.0.0.1:8080\"",
            "f.toml:1:9: admin: is the same address as listen\n  hint: admin = \"127.0.0.1:8081\""},
        Wrong{"upstream = \"http://127.0.0.1:8080\"",
              "f.toml:1:12: upstream: is this gateway's own address"}));

INSTANTIATE_TEST_SUITE_P(
    Routes, WrongSetting,
    testing::Values(
        Wrong{"[route]\nmatch = \"POST *\"",
              "f.toml:1:1: route: expected a list of tables, found a table\n  hint: each route "
              "starts with [[route]], in double brackets"},
        Wrong{"route = [1]",
              "f.toml:1:10: route: expected a table, found an integer\n  hint: each route starts "
              "with [[route]]"},
        Wrong{"\n[[route]]\nkey = \"off\"",
              "f.toml:2:1: match is missing\n  hint: match = \"POST /payments/*\""},
        Wrong{"[[route]]\nmatch = \"/a\"",
              "f.toml:2:9: match: the method is missing\n  hint: \"POST /a\""},
        Wrong{"[[route]]\nmatch = \"POST /a*b\"",
              "f.toml:2:9: match: * may stand at the end or for one whole segment only\n  hint: "
              "\"/payments/*\" or \"/users/*/payments\""},
        Wrong{"[[route]]\nmatch = \"POST *\"\nlisten = \"a:1\"",
              "f.toml:3:1: unknown key \"listen\"\n  hint: it must stand before the first [table]"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nretension = \"1h\"",
              "f.toml:3:1: unknown key \"retension\"\n  hint: did you mean \"retention\"?"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nkey = \"require\"",
              "f.toml:3:7: key: \"require\" is not one of \"required\", \"optional\", \"off\"\n  "
              "hint: did you mean \"required\"?"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nkey_header = \"Content-Length\"",
              "f.toml:3:14: key_header: \"Content-Length\" has its own meaning in HTTP\n  hint: "
              "\"Idempotency-Key\""},
        Wrong{"tenant.from = \"header\"\n[[route]]\nmatch = \"POST *\"\nkey_header = \"x-tenant\"",
              "f.toml:4:14: key_header: names the tenant already"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nkey_min_length = 0",
              "f.toml:3:18: key_min_length: 0 is out of range: 1 to 255"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nkey_max_length = 8",
              "f.toml:3:18: key_max_length: 8 is less than key_min_length (16)"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nkey_pointer = \"id\"",
              "f.toml:3:15: key_pointer: \"id\" is not a JSON pointer (RFC 6901)\n  hint: \"/id\""},
        Wrong{"[[route]]\nmatch = \"POST *\"\nstatus = { mismatch = 200 }",
              "f.toml:3:23: status.mismatch: 200 is out of range: 400 to 599"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nstatus = { inflight = 409 }",
              "f.toml:3:12: unknown key \"status.inflight\"\n  hint: did you mean "
              "\"status.in_flight\"?"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nstatus = 409",
              "f.toml:3:10: status: expected a table, found an integer\n  hint: status = { ... }"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nretention = \"0h\"",
              "f.toml:3:13: retention: \"0h\" is out of range: 1s to 3650d"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nlease = \"10ms\"",
              "f.toml:3:9: lease: \"10ms\" is out of range: 1s to 1d"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nlease = \"20s\"\nupstream_timeout = \"30s\"",
              "f.toml:3:9: lease: 20s ends before upstream_timeout (30s) does\n  hint: lease = "
              "\"1m\""},
        Wrong{"[[route]]\nmatch = \"POST *\"\non_inflight = \"wait\"\nwait_timeout = \"0s\"",
              "f.toml:4:16: wait_timeout: \"0s\" is out of range: 1ms to 1h"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nfingerprint = { exclude = [\"/a\", \"b\"] }",
              "f.toml:3:34: fingerprint.exclude: \"b\" is not a JSON pointer (RFC 6901)\n  hint: "
              "\"/b\""},
        Wrong{"[[route]]\nmatch = \"POST *\"\nfingerprint = { exclude = [\"/a~2\"] }",
              "f.toml:3:28: fingerprint.exclude: \"/a~2\" is not a JSON pointer (RFC 6901)\n  "
              "hint: ~ is written ~0 and / in a name is written ~1"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nfingerprint = { exclude = [\"/a\", 3] }",
              "f.toml:3:34: fingerprint.exclude: expected a string, found an integer"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nfingerprint = { include = [\"/a\"], exclude = "
              "[\"/a\"] }",
              "f.toml:3:45: fingerprint.exclude: \"/a\" is also in include"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nreplay_headers = [\"ETag\", \"Set-Cookie\"]",
              "f.toml:3:27: replay_headers: \"Set-Cookie\" must never be replayed\n  hint: it "
              "belongs to one connection, one moment or one browser"},
        Wrong{"[[route]]\nmatch = \"POST *\"\nasync = \"maybe\"",
              "f.toml:3:9: async: expected true, false or \"allowed\"\n  hint: async = \"allowed\" "
              "lets clients ask for it with Prefer: respond-async"},
        Wrong{"[[route]]\nmatch = \"POST *\"\non_5xx = 1979-05-27",
              "f.toml:3:10: on_5xx: expected a string, found a date or time"}));

TEST(ConfigFile, AllErrorsAreReportedInTheOrderOfTheirLines) {
  EXPECT_EQ(errors_of("threads = 99\nadmin = 1\n[[route]]\nmatch = \"x\"\nlease = 1\n"),
            "f.toml:1:11: threads: 99 is out of range: 0 to 64\n"
            "f.toml:2:9: admin: expected a string, found an integer\n"
            "f.toml:4:9: match: \"x\" is not a method in capital letters\n"
            "  hint: write it as \"POST,PATCH /payments/*\", without space after the comma\n"
            "f.toml:5:9: lease: a duration needs a unit\n"
            "  hint: \"1s\" for seconds; units are ms, s, m, h, d");
}

TEST(ConfigFile, MissingFileIsAnError) {
  const auto result = load_config_file("/nonexistent/oncekey.toml");
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(to_string(result.error().at(0)),
            "/nonexistent/oncekey.toml: cannot be read: No such file or directory");
  EXPECT_FALSE(load_config_file("/tmp").ok());
}

TEST(ConfigFile, LeaseAndUpstreamTimeoutMoveEachOther) {
  const Config slow = parsed("[[route]]\nmatch = \"POST *\"\nupstream_timeout = \"5m\"");
  EXPECT_EQ(slow.routes[0].lease_ms, 600'000);
  const Config quick = parsed("[[route]]\nmatch = \"POST *\"\nlease = \"2s\"");
  EXPECT_EQ(quick.routes[0].upstream_timeout_ms, 1'000);
}

TEST(ConfigWarning, RouteThatCanNeverMatch) {
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST,PATCH *\"\n[[route]]\nmatch = \"POST /a\""),
            "f.toml:4:9: match: can never match, \"POST,PATCH *\" before it takes all of it\n"
            "  hint: put the narrower route first");
}

TEST(ConfigWarning, UncoveredPosts) {
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST /a\"\n[[route]]\nmatch = \"PATCH *\""),
            "f.toml:1:1: POST requests that no route matches pass unprotected\n"
            "  hint: end with a route that has match = \"POST,PATCH *\"");
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST,PATCH *\""), "");
}

TEST(ConfigFile, TenantsFromTokensAndTheirScopes) {
  const Config config = parsed(R"(
listen = "0.0.0.0:1"
[tenant]
from = "jwt"
keys = "/etc/keys.json"
token_header = "X-Token"
algorithms = ["ES256", "RS256"]
claim = "/org/id"
issuer = "https://a.example"
audience = ["payments", "orders"]
require_exp = false
leeway = "5s"
token_max = "4KiB"
principal_claim = "user"
[[route]]
match = "POST,PATCH *"
scope = ["tenant", "principal", "route"]
)");
  EXPECT_EQ(config.tenant.from, TenantFrom::jwt);
  EXPECT_EQ(config.tenant.keys, "/etc/keys.json");
  EXPECT_EQ(config.tenant.token_header, "X-Token");
  const identity::TokenRules& token = config.tenant.token;
  EXPECT_EQ(token.algorithms, (std::vector<identity::Algorithm>{identity::Algorithm::es256,
                                                                identity::Algorithm::rs256}));
  EXPECT_EQ(token.claim, "/org/id");
  EXPECT_EQ(token.issuers, (std::vector<std::string>{"https://a.example"}));
  EXPECT_EQ(token.audiences, (std::vector<std::string>{"payments", "orders"}));
  EXPECT_FALSE(token.require_exp);
  EXPECT_EQ(token.leeway_ms, 5'000);
  EXPECT_EQ(token.length_max, 4u << 10);
  EXPECT_EQ(token.principal_claim, "user");
  EXPECT_TRUE(config.routes[0].scope_route);
  EXPECT_TRUE(config.routes[0].scope_principal);
}

TEST(ConfigFile, TenantsFromAHeaderOfTrustedAddresses) {
  EXPECT_TRUE(Config().tenant.trusted.contain("127.0.0.1"));
  EXPECT_FALSE(Config().tenant.trusted.contain("10.0.0.1"));
  const Config config = parsed(
      "[tenant]\nfrom = \"header\"\ntrusted = [\"10.0.0.0/8\"]\nprincipal_header = \"X-User\"");
  EXPECT_TRUE(config.tenant.trusted.contain("10.0.0.1"));
  EXPECT_FALSE(config.tenant.trusted.contain("127.0.0.1"));
  EXPECT_EQ(config.tenant.principal_header, "X-User");
}

TEST(ConfigWarning, RiskySettings) {
  EXPECT_EQ(
      warnings_of("store = \"memory:\""),
      "f.toml:1:9: store: keeps records in memory only: after a restart every retry runs again");
  EXPECT_EQ(warnings_of("listen = \"0.0.0.0:1\"\ntenant.from = \"header\""),
            "f.toml:2:15: tenant.from: only requests from this machine are accepted: X-Tenant is "
            "taken from nobody else\n"
            "  hint: tenant.trusted = [\"10.0.0.0/8\"], the addresses of the proxy that sets it");
  EXPECT_EQ(warnings_of("listen = \"0.0.0.0:1\"\n[tenant]\nfrom = \"header\"\n"
                        "trusted = [\"0.0.0.0/0\"]"),
            "f.toml:4:11: tenant.trusted: whoever reaches 0.0.0.0:1 can name any tenant\n"
            "  hint: only the addresses of the proxy that sets X-Tenant");
  EXPECT_EQ(warnings_of("[tenant]\nfrom = \"jwt\"\nkeys = \"k\""),
            "f.toml:2:8: tenant.from: tokens that were made for other services are accepted\n"
            "  hint: tenant.audience = \"payments\"");
  EXPECT_EQ(warnings_of("tenant.claim = \"org\""),
            "f.toml:1:16: tenant.claim has no effect without tenant.from = \"jwt\"");
  EXPECT_EQ(warnings_of("tenant.header = \"X-T\""),
            "f.toml:1:17: tenant.header has no effect without tenant.from = \"header\"");
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST,PATCH *\"\ntombstone = \"1d\""),
            "f.toml:3:13: tombstone has no effect without on_expired = \"tombstone\"");
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true"),
            "f.toml:3:13: fail_open: while the store is down requests are executed without a "
            "record, and every retry of them runs again\n  hint: fail_open = false answers them "
            "with 503 and Retry-After");
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = false"), "");
  EXPECT_EQ(warnings_of("[[route]]\nmatch = \"POST,PATCH *\"\nretention = \"5s\""),
            "f.toml:3:13: retention: clients that wait for upstream_timeout retry when the key is "
            "forgotten\n  hint: retention = \"24h\"");
}

}  // namespace
}  // namespace oncekey::gateway
