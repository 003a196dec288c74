#include "audit/coverage.h"

#include <gtest/gtest.h>

#include "gateway/config_file.h"

namespace oncekey::audit {
namespace {

Protection protection(const std::string& toml, const std::vector<std::string>& paths,
                      const std::vector<std::string>& base_paths = {}) {
  const auto config = gateway::parse_config(toml, "test.toml");
  if (!config) {
    ADD_FAILURE() << to_string(config.error().front());
    return {};
  }
  std::string text = "openapi: 3.0.0\nservers: [{url: 'http://h/v1'}]\npaths:\n";
  for (const std::string& path : paths) {
    text += "  " + path + ":\n    post:\n      parameters:\n" +
            "        - {name: kind, in: path, schema: {enum: [card, cash]}}\n";
  }
  const auto api = read_api(text, "test.yaml");
  if (!api) {
    ADD_FAILURE() << to_string(api.error().front(), "test.yaml");
    return {};
  }
  const gateway::RouteTable routes(config->config.routes);
  return Coverage(routes, *api).of(api->operations.front(), base_paths);
}

std::string route(const std::string& match, const std::string& more = "") {
  return "[[route]]\nmatch = \"" + match + "\"\n" + more + "\n";
}
const std::string off = "key = \"off\"";

TEST(Coverage, IsWhatTheGatewayWouldDo) {
  EXPECT_EQ(protection("", {"/payments"}).kind, Protection::Kind::required);
  EXPECT_EQ(protection(route("POST /payments"), {"/payments"}).kind, Protection::Kind::none)
      << "the server's path is /v1/payments";
  EXPECT_EQ(protection(route("POST /v1/payments"), {"/payments"}).kind, Protection::Kind::required);
  EXPECT_EQ(protection(route("POST /payments"), {"/payments"}, {""}).kind,
            Protection::Kind::required);
  EXPECT_EQ(protection(route("PATCH *"), {"/payments"}).kind, Protection::Kind::none);
  EXPECT_EQ(protection(route("POST *", "key = \"optional\""), {"/payments"}).kind,
            Protection::Kind::optional);
  const Protection open = protection(
      route("PATCH *") + route("POST *", "fail_open = true\nkey_header = \"X-Once\""), {"/a"});
  EXPECT_TRUE(open.fail_open);
  EXPECT_EQ(open.number, 2u);
  EXPECT_EQ(open.key_header, "X-Once");
}

TEST(Coverage, ParametersStandForAnyValue) {
  const std::string routes = route("POST /v1/payments/*/capture");
  EXPECT_EQ(protection(routes, {"/payments/{id}/capture"}).kind, Protection::Kind::required);
  const Protection none = protection(routes, {"/payments/{id}/refund"});
  EXPECT_EQ(none.kind, Protection::Kind::none);
  EXPECT_EQ(none.target, "/v1/payments/*/refund");
  EXPECT_EQ(protection(route("POST /v1/payments/p1/capture"), {"/payments/{id}/capture"}).kind,
            Protection::Kind::none);
}

TEST(Coverage, TheLeastProtectedPathCounts) {
  const std::string routes = route("POST /v1/payments/test/*", off) + route("POST *");
  const Protection found = protection(routes, {"/payments/{id}/capture"});
  EXPECT_EQ(found.kind, Protection::Kind::off);
  EXPECT_EQ(found.target, "/v1/payments/test/capture");
}

TEST(Coverage, APathOfItsOwnIsNotThatOfATemplate) {
  const std::string routes = route("POST /v1/payments/search", off) + route("POST *");
  EXPECT_EQ(protection(routes, {"/payments/{id}"}).kind, Protection::Kind::off);
  EXPECT_EQ(protection(routes, {"/payments/{id}", "/payments/search"}).kind,
            Protection::Kind::required);
}

TEST(Coverage, ListedChoicesAreAllLookedAt) {
  const std::string both = route("POST /v1/pay/card") + route("POST /v1/pay/cash");
  EXPECT_EQ(protection(both, {"/pay/{kind}"}).kind, Protection::Kind::required);
  const Protection found = protection(route("POST /v1/pay/card"), {"/pay/{kind}"});
  EXPECT_EQ(found.kind, Protection::Kind::none);
  EXPECT_EQ(found.target, "/v1/pay/cash");
}

}  // namespace
}  // namespace oncekey::audit
