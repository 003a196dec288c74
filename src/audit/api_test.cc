#include "audit/api.h"

#include <gtest/gtest.h>

#include "audit/sample.h"

namespace oncekey::audit {
namespace {

Api api_of(std::string_view text) {
  const auto api = read_api(text, "api.yaml");
  if (!api) {
    for (const Problem& problem : api.error()) ADD_FAILURE() << to_string(problem, "api.yaml");
    return {};
  }
  return *api;
}

std::string problems_of(std::string_view text) {
  const auto api = read_api(text, "api.yaml");
  std::string out;
  if (api) return out;
  for (const Problem& problem : api.error()) out += to_string(problem, "api.yaml") + "\n";
  return out;
}

const Operation& operation(const Api& api, const std::string& name) {
  for (const Operation& each : api.operations) {
    if (each.name() == name) return each;
  }
  ADD_FAILURE() << "no operation " << name;
  static const Operation none;
  return none;
}

TEST(Api, HasEveryOperationThatChangesSomething) {
  const Api api = api_of(sample_yaml);
  std::string names;
  for (const Operation& each : api.operations) names += each.name() + "\n";
  EXPECT_EQ(names,
            "POST /payments\nPUT /payments/{id}\nPATCH /payments/{id}\nDELETE /payments/{id}\n"
            "POST /payments/{id}/capture\nPOST /refunds\nPOST /cancellations\nPOST /search\n");
  EXPECT_EQ(api.version, "3.1.0");
  EXPECT_EQ(api.title, "Payments");
  EXPECT_EQ(api.webhooks, 1);
  EXPECT_EQ(api.callbacks, 1);
  EXPECT_EQ(operation(api, "POST /payments").at.line, 11);
}

TEST(Api, FollowsReferencesAndPathLevelParameters) {
  const Api api = api_of(sample_yaml);
  const Operation& pay = operation(api, "POST /payments");
  ASSERT_EQ(pay.headers.size(), 1u);
  EXPECT_EQ(pay.headers[0].name, "Idempotency-Key");
  EXPECT_TRUE(pay.headers[0].required);
  EXPECT_EQ(operation(api, "POST /refunds").id, "refund");
  const Operation& change = operation(api, "PATCH /payments/{id}");
  ASSERT_EQ(change.headers.size(), 1u);
  EXPECT_FALSE(change.headers[0].required);
  ASSERT_EQ(change.parameters.size(), 2u);
  EXPECT_EQ(change.parameters[0].value, "00000000-0000-4000-8000-000000000000");
  EXPECT_EQ(change.parameters[1].value, "false");
}

TEST(Api, AnOperationsParameterReplacesThePathsOwn) {
  const Api api = api_of(R"({"openapi":"3.0.3","paths":{"/a":{
    "parameters":[{"name":"Idempotency-Key","in":"header","required":true}],
    "post":{"parameters":[{"name":"idempotency-key","in":"header","required":false}]}}}})");
  ASSERT_EQ(operation(api, "POST /a").headers.size(), 1u);
  EXPECT_FALSE(operation(api, "POST /a").headers[0].required);
}

TEST(Api, HasLinksByIdAndByReference) {
  const Api api = api_of(sample_yaml);
  const auto& links = operation(api, "POST /payments").links;
  ASSERT_EQ(links.size(), 2u);
  EXPECT_EQ(links[0].operation_id, "refund");
  EXPECT_EQ(links[1].method + " " + links[1].path, "POST /cancellations");
}

TEST(Api, ServersGiveBasePathsNearestFirst) {
  EXPECT_EQ(operation(api_of(sample_yaml), "POST /search").base_paths.front(), "/v1");
  const Api api = api_of(R"({"openapi":"3.0.0","servers":[{"url":"/one/"},{"url":"//h/two"}],
    "paths":{"/a":{"post":{}},"/b":{"servers":[{"url":"http://h"}],"post":{},
    "patch":{"servers":[{"url":"http://h/three?x"},{"url":"https://i/three"}]}}}})");
  EXPECT_EQ(operation(api, "POST /a").base_paths, (std::vector<std::string>{"/one", "/two"}));
  EXPECT_EQ(operation(api, "POST /b").base_paths, (std::vector<std::string>{""}));
  EXPECT_EQ(operation(api, "PATCH /b").base_paths, (std::vector<std::string>{"/three"}));
}

TEST(Api, WhatCannotBeReadIsSaidWithItsPlace) {
  EXPECT_EQ(problems_of("swagger: '2.0'\npaths: {}\n"),
            "api.yaml:1:10: Swagger 2.0 is not read; convert the document to OpenAPI 3\n");
  EXPECT_EQ(problems_of("openapi: 4.0.0\n"),
            "api.yaml:1:10: OpenAPI 4.0.0 is not read; 3.0 and 3.1 are\n");
  EXPECT_NE(problems_of("name: x\n").find("has no member openapi"), std::string::npos);
  EXPECT_NE(problems_of("just a text\n").find("is no OpenAPI document"), std::string::npos);
  EXPECT_NE(problems_of("openapi: 3.0.0\n").find("paths is missing"), std::string::npos);
  EXPECT_EQ(problems_of("openapi: 3.1.0\nwebhooks: {}\n"), "");
  EXPECT_EQ(problems_of("openapi: 3.0.0\npaths:\n  payments: {}\n"),
            "api.yaml:3:3: a path begins with /: \"payments\"\n");
}

TEST(Api, EveryReferenceThatLeadsNowhereIsNamed) {
  const std::string problems = problems_of(
      "openapi: 3.0.0\npaths:\n"
      "  /a: {$ref: 'https://example.com/api.yaml#/paths/a'}\n"
      "  /b:\n    post:\n      parameters:\n        - $ref: '#/components/parameters/None'\n"
      "        - $ref: './common.yaml#/Key'\n"
      "  /c: {$ref: '#/paths/~1c'}\n");
  EXPECT_NE(problems.find("api.yaml:3:14: $ref to another document is not followed: "
                          "https://example.com/api.yaml#/paths/a. Bundle"),
            std::string::npos)
      << problems;
  EXPECT_NE(problems.find("api.yaml:7:17: $ref leads to nothing: #/components/parameters/None"),
            std::string::npos)
      << problems;
  EXPECT_NE(problems.find("./common.yaml#/Key"), std::string::npos) << problems;
  EXPECT_NE(problems.find("$ref leads round in a circle"), std::string::npos) << problems;
}

}  // namespace
}  // namespace oncekey::audit
