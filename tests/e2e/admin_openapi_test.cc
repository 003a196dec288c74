// The published document of the admin API is what the running port does.
#include <simdjson.h>

#include <set>

#include "e2e/admin_fixture.h"

namespace oncekey::test {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

class AdminDocument : public AdminFixture {
 protected:
  void SetUp() override {
    serve_with_tokens();
    post(key_a);
    post(key_b, "reset-unanswered");
    text_ = get("/openapi.json").body;
    document_ = parser_.parse(text_);
  }

  // The schema behind a $ref, or the schema itself.
  object resolved(element schema) {
    std::string_view reference;
    if (schema["$ref"].get(reference) != simdjson::SUCCESS) return schema;
    return document_.at_pointer(reference.substr(1));
  }

  // Whether an answer is what its schema says: required members, and no others than it names.
  void check(element value, element schema, const std::string& where) {
    const object rules = resolved(schema);
    element properties, items;
    if (value.is_array() && rules["items"].get(items) == simdjson::SUCCESS) {
      for (const element one : simdjson::dom::array(value)) check(one, items, where + "[]");
    }
    if (!value.is_object() || rules["properties"].get(properties) != simdjson::SUCCESS) return;
    for (const auto& [name, member] : object(value)) {
      element known;
      const bool named = properties[name].get(known) == simdjson::SUCCESS;
      EXPECT_TRUE(named) << where << " has an undocumented member " << name;
      if (named) check(member, known, where + "." + std::string(name));
    }
    element required;
    if (rules["required"].get(required) != simdjson::SUCCESS) return;
    for (const element name : simdjson::dom::array(required)) {
      element present;
      EXPECT_EQ(value[std::string_view(name)].get(present), simdjson::SUCCESS)
          << where << " lacks " << std::string_view(name);
    }
  }

  std::string text_;
  simdjson::dom::parser parser_;
  element document_;
};

TEST_F(AdminDocument, EveryPathOfItIsServed) {
  EXPECT_EQ(std::string_view(document_["openapi"]), "3.1.0");
  std::set<std::string> names;
  std::size_t operations = 0;
  for (const auto& [path, methods] : object(document_["paths"])) {
    for (const auto& [method, operation] : object(methods)) {
      ++operations;
      names.insert(std::string(std::string_view(operation["operationId"])));
      const bool is_post = method == "post";
      const std::string upper = is_post ? "POST" : "GET";
      if (path == "/v1/events") continue;  // it never ends; AdminEvents is about it
      HttpResponse answer = exchange(gateway_->admin_port(),
                                     admin_call(upper, std::string(path), is_post ? "{}" : ""));
      EXPECT_NE(answer.status, 404) << path;
      EXPECT_NE(answer.status, 405) << path;
      const bool open = simdjson::dom::array(operation["security"]).size() == 0;
      const int anonymous = exchange(gateway_->admin_port(),
                                     admin_call(upper, std::string(path), is_post ? "{}" : "", ""))
                                .status;
      EXPECT_EQ(anonymous, open ? 200 : 401) << path;
    }
  }
  EXPECT_EQ(names.size(), operations) << "an operationId comes twice";
  EXPECT_GE(operations, 15u);
}

TEST_F(AdminDocument, AnswersAreAsDescribed) {
  const std::pair<const char*, std::string> calls[] = {
      {"/v1/keys", "/v1/keys"},
      {"/v1/keys/one", "/v1/keys/one?body=1&key=" + key_a},
      {"/v1/keys/timeline", "/v1/keys/timeline?key=" + key_b},
      {"/v1/routes", "/v1/routes"},
      {"/v1/status", "/v1/status"},
      {"/v1/audit", "/v1/audit"},
      {"/readyz", "/readyz"},
  };
  change("/v1/keys/release", "{\"key\":\"" + key_b + "\",\"reason\":\"test\"}");
  for (const auto& [path, target] : calls) {
    const HttpResponse answer = get(target);
    ASSERT_EQ(answer.status, 200) << target << answer.body;
    simdjson::dom::parser parser;
    const element body = parser.parse(answer.body);
    check(body,
          document_["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
                   ["schema"],
          path);
  }
  const HttpResponse wrong = get("/v1/keys?nonsense=1");
  simdjson::dom::parser parser;
  check(parser.parse(wrong.body), document_["components"]["schemas"]["Problem"], "problem");
}

TEST_F(AdminDocument, ReferencesLeadSomewhere) {
  std::size_t references = 0;
  for (std::size_t at = text_.find("\"$ref\":\""); at != std::string::npos;
       at = text_.find("\"$ref\":\"", at + 1)) {
    ++references;
    const std::size_t begin = text_.find('#', at) + 1;
    const std::string pointer = text_.substr(begin, text_.find('"', begin) - begin);
    EXPECT_EQ(document_.at_pointer(pointer).error(), simdjson::SUCCESS) << pointer;
  }
  EXPECT_GT(references, 10u);
}

}  // namespace
}  // namespace oncekey::test
