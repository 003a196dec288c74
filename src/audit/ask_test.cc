#include "audit/ask.h"

#include <gtest/gtest.h>

namespace oncekey::audit {
namespace {

Asked asked(int status, const std::string& body, std::vector<Header> headers = {}) {
  verify::Answer answer;
  answer.status = status;
  answer.body = body;
  answer.headers = std::move(headers);
  return understand(answer, {"X-Once"});
}

TEST(Ask, ARefusalMustSpeakOfTheKey) {
  EXPECT_EQ(asked(400, "Idempotency-Key is missing").kind, Asked::Kind::refused);
  EXPECT_EQ(asked(428, "send x-once").kind, Asked::Kind::refused);
  EXPECT_EQ(asked(400, "", {{"Link", "</.well-known/idempotency>"}}).kind, Asked::Kind::refused);
  EXPECT_EQ(asked(400, "amount is missing").kind, Asked::Kind::unclear);
  EXPECT_EQ(asked(401, "").kind, Asked::Kind::unclear);
  EXPECT_EQ(asked(404, "").kind, Asked::Kind::unclear);
  EXPECT_EQ(asked(500, "idempotency failed").kind, Asked::Kind::unclear);
  EXPECT_EQ(asked(302, "").kind, Asked::Kind::unclear);
  EXPECT_EQ(asked(0, "").kind, Asked::Kind::unclear);
  for (const int status : {200, 201, 202, 204}) {
    EXPECT_EQ(asked(status, "idempotency").kind, Asked::Kind::executed) << status;
  }
}

TEST(Ask, FillsTheTarget) {
  Operation operation;
  operation.path = "/payments/{id}:{action}/x";
  operation.base_paths = {"/v1", "/v2"};
  operation.parameters = {
      {"id", true, "a b/c", {}}, {"action", true, "go", {}}, {"q", false, "&", {}}};
  EXPECT_EQ(target_of(operation, "/v1"), "/v1/payments/a%20b%2Fc:go/x?q=%26");
  const auto base = [&](const char* url, const std::vector<std::string>& given) {
    return base_path_for(operation, *verify::parse_place(url), given);
  };
  EXPECT_EQ(base("http://h", {}), "/v1");
  EXPECT_EQ(base("http://h/", {"/w"}), "/w");
  EXPECT_EQ(base("http://h/own/", {"/w"}), "/own");
}

}  // namespace
}  // namespace oncekey::audit
