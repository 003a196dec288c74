#include "admin/record_json.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <string>

namespace oncekey::admin {
namespace {

Record full_record() {
  StoredResponse response;
  response.status = 201;
  response.headers.push_back({"Set-Cookie", "secret-cookie"});
  response.body = "secret-body";
  Record record;
  record.id = {"tenant", "key\"\n\xff"};
  record.state = State::completed;
  record.attempt = 2;
  record.fence = 18446744073709551615u;
  record.method = "POST";
  record.path = "/orders";
  record.owner = "node-1";
  record.last_error = "first attempt: refused";
  record.response = std::make_shared<const StoredResponse>(std::move(response));
  record.created_at = 1'700'000'000'000;
  record.locked_until = 1'700'000'060'000;
  record.reconcile_after = 1'700'000'070'000;
  record.completed_at = 1'700'000'001'500;
  record.expires_at = 1'700'086'401'500;
  return record;
}

std::string json_of(const Record& record) {
  std::string out;
  JsonWriter json(out);
  write_record(json, record);
  return out;
}

TEST(RecordJson, TellsAnOperatorWhatHappened) {
  const std::string text = json_of(full_record());
  simdjson::dom::parser parser;
  simdjson::dom::element json = parser.parse(text);
  EXPECT_EQ(std::string_view(json["tenant"]), "tenant");
  EXPECT_EQ(std::string_view(json["key"]), "key\"\n\xef\xbf\xbd");
  EXPECT_EQ(std::string_view(json["state"]), "completed");
  EXPECT_EQ(uint64_t(json["attempt"]), 2u);
  EXPECT_EQ(uint64_t(json["fence"]), 18446744073709551615u);
  EXPECT_EQ(std::string_view(json["method"]), "POST");
  EXPECT_EQ(std::string_view(json["path"]), "/orders");
  EXPECT_EQ(std::string_view(json["owner"]), "node-1");
  EXPECT_EQ(std::string_view(json["last_error"]), "first attempt: refused");
  EXPECT_EQ(int64_t(json["response_status"]), 201);
  EXPECT_EQ(int64_t(json["response_stored_bytes"]), 11);
  EXPECT_TRUE(std::string_view(json["completed_at"]).starts_with("2023-11-14T22:13:21"));
}

TEST(RecordJson, AnswerItselfStaysOut) {
  EXPECT_EQ(json_of(full_record()).find("secret"), std::string::npos);
}

TEST(RecordJson, AnswerIsShownWhenItIsAskedFor) {
  Record record = full_record();
  StoredResponse response;
  response.status = 201;
  response.headers = {{"Link", "</a>"}, {"Content-Type", "text/plain"}, {"link", "</b>"}};
  response.body = "the body";
  record.response = std::make_shared<const StoredResponse>(response);
  const auto shown = [&](bool with_body) {
    std::string out;
    JsonWriter json(out);
    write_record_with_answer(json, record, false, with_body);
    return out;
  };
  simdjson::dom::parser parser;
  const std::string text = shown(true);
  simdjson::dom::element json = parser.parse(text);
  EXPECT_EQ(std::string_view(json["answer"]["headers"]["Link"]), "</a>, </b>");
  EXPECT_EQ(std::string_view(json["answer"]["body"]), "the body");
  EXPECT_EQ(shown(false).find("the body"), std::string::npos);
  response.body = "\xff\xfe";
  record.response = std::make_shared<const StoredResponse>(response);
  EXPECT_NE(shown(true).find("\"body_base64\":\"//4=\""), std::string::npos) << shown(true);
}

TEST(RecordJson, TimesAppearOnlyWhereTheyMeanSomething) {
  Record record = full_record();
  auto has = [&](const char* name) {
    return json_of(record).find("\"" + std::string(name) + "\"") != std::string::npos;
  };
  EXPECT_FALSE(has("locked_until"));
  EXPECT_FALSE(has("reconcile_after"));
  record.state = State::in_progress;
  EXPECT_TRUE(has("locked_until"));
  record.state = State::unknown;
  EXPECT_TRUE(has("reconcile_after"));
  record.completed_at = 0;
  EXPECT_FALSE(has("completed_at"));
}

TEST(RecordJson, EmptyPartsAreLeftOut) {
  simdjson::dom::parser parser;
  const std::string text = json_of(Record{});
  simdjson::dom::object json = parser.parse(text);
  for (const char* name :
       {"method", "path", "owner", "recovery_point", "last_error", "response_status"}) {
    EXPECT_NE(json[name].error(), simdjson::SUCCESS) << name;
  }
  EXPECT_EQ(json["state"].error(), simdjson::SUCCESS);
}

}  // namespace
}  // namespace oncekey::admin
