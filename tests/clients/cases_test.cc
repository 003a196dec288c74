// Every case of cases.json against a real server, with the test's own clock.
#include <gtest/gtest.h>
#include <simdjson.h>

#include <memory>

#include "http/when.h"
#include "oncekey/client.h"
#include "support/listed_answers.h"
#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

using simdjson::dom::element;

// The document lives as long as the program: cases are views into it.
element document() {
  static simdjson::dom::parser parser;
  static const element root = parser.load(ONCEKEY_SOURCE_DIR "/tests/clients/cases.json");
  return root;
}

std::vector<element> cases() {
  std::vector<element> all;
  const simdjson::dom::array listed = document()["cases"];
  for (const element each : listed) all.push_back(each);
  return all;
}

std::int64_t number(const element& from, const char* name, std::int64_t otherwise) {
  const auto found = from[name];
  return found.error() == simdjson::SUCCESS ? found.get_int64().value() : otherwise;
}

std::string text(const element& from, const char* name, const std::string& otherwise = "") {
  const auto found = from[name];
  return found.error() == simdjson::SUCCESS ? std::string(found.get_string().value()) : otherwise;
}

bool has(const element& from, const char* name) {
  return from[name].error() == simdjson::SUCCESS;
}

// A name of ours that is not read would make a case pass for nothing.
void expect_known(const element& object, std::initializer_list<std::string_view> known) {
  const simdjson::dom::object fields = object.get_object();
  for (const auto& [name, value] : fields) {
    EXPECT_NE(std::find(known.begin(), known.end(), name), known.end())
        << "cases.json has a field that the test does not know: " << name;
  }
}

ClientOptions options_of(const element& test_case) {
  ClientOptions options;
  if (!has(test_case, "options")) return options;
  const element given = test_case["options"].value();
  expect_known(given, {"attempts_max", "deadline_ms", "backoff_ms", "backoff_max_ms",
                       "key_age_max_ms", "quoted_key"});
  options.attempts_max = static_cast<int>(number(given, "attempts_max", options.attempts_max));
  options.deadline_ms = number(given, "deadline_ms", options.deadline_ms);
  options.backoff_ms = number(given, "backoff_ms", options.backoff_ms);
  options.backoff_max_ms = number(given, "backoff_max_ms", options.backoff_max_ms);
  options.key_age_max_ms = number(given, "key_age_max_ms", options.key_age_max_ms);
  options.quoted_key = has(given, "quoted_key") && given["quoted_key"].get_bool().value();
  return options;
}

ListedAnswer answer_of(const element& given) {
  expect_known(given, {"status", "headers", "body", "way"});
  ListedAnswer answer;
  answer.status = static_cast<int>(number(given, "status", 200));
  answer.body = text(given, "body", "{}");
  const std::string way = text(given, "way", "answered");
  answer.way = way == "reset" ? ListedAnswer::Way::reset
               : way == "cut" ? ListedAnswer::Way::cut
                              : ListedAnswer::Way::answered;
  if (!has(given, "headers")) return answer;
  const simdjson::dom::object headers = given["headers"];
  for (const auto& [name, value] : headers) {
    answer.headers.push_back({std::string(name), std::string(value.get_string().value())});
  }
  return answer;
}

std::string describe(const ClientResult& result) {
  if (const auto* finished = std::get_if<Finished>(&result)) {
    return "answer " + std::to_string(finished->answer.status) +
           (finished->settled ? " settled" : " not settled");
  }
  const auto& gave_up = std::get<GaveUp>(result);
  return "gave up: " + std::string(to_string(gave_up.why)) +
         (gave_up.same_key_is_safe ? ", same key is safe" : ", same key is not safe");
}

std::string describe_expected(const element& result) {
  if (has(result, "answer")) {
    return "answer " + std::to_string(number(result, "answer", 0)) +
           (result["settled"].get_bool().value() ? " settled" : " not settled");
  }
  return "gave up: " + text(result, "gave_up") +
         (result["same_key_is_safe"].get_bool().value() ? ", same key is safe"
                                                        : ", same key is not safe");
}

class ClientCase : public ::testing::TestWithParam<std::size_t> {
 protected:
  ClientSurroundings surroundings(double chance) {
    return {[this] { return now_; }, [this] { return now_; },
            [this](DurationMs duration, const std::stop_token&) {
              waits_.push_back(duration);
              now_ += duration;
            },
            [chance] { return chance; }};
  }

  void keep(KeyFile& file, const element& kept) const {
    const std::string key = text(kept, "key");
    ASSERT_TRUE(file.take("operation", key, now_ - number(kept, "age_ms", 0)));
    if (!has(kept, "expires_in_ms")) return;
    ASSERT_TRUE(file.set_expiry("operation", key, now_ + number(kept, "expires_in_ms", 0)));
  }

  TimestampMs now_ = http::parse_rfc3339(text(document(), "start")).value();
  std::vector<DurationMs> waits_;
  TemporaryFolder folder_;
  KeyFile file_{(folder_.path() / "keys").string()};
};

TEST_P(ClientCase, Holds) {
  const element test_case = cases()[GetParam()];
  SCOPED_TRACE(text(test_case, "name"));
  expect_known(test_case, {"name", "options", "chance", "key", "key_sent", "named", "kept",
                           "answers", "attempts", "waits_ms", "result", "kept_after"});
  std::vector<ListedAnswer> answers;
  const simdjson::dom::array listed = test_case["answers"];
  for (const element each : listed) answers.push_back(answer_of(each));
  const ListedAnswers server(answers);

  ClientOptions options = options_of(test_case);
  options.key_file = &file_;
  ClientOperation operation{
      .target = "/orders", .body = "{\"item\":1}", .key = text(test_case, "key")};
  if (has(test_case, "kept") || has(test_case, "named")) operation.name = "operation";
  if (has(test_case, "kept")) keep(file_, test_case["kept"].value());
  const double chance = has(test_case, "chance") ? test_case["chance"].get_double().value() : 0.5;

  const Client client(server.url() + "/base", options, surroundings(chance));
  const ClientResult result = client.run(operation);

  EXPECT_EQ(describe(result), describe_expected(test_case["result"].value()));
  std::vector<DurationMs> waits;
  const simdjson::dom::array expected_waits = test_case["waits_ms"];
  for (const element each : expected_waits) waits.push_back(each.get_int64());
  EXPECT_EQ(waits_, waits);

  const auto requests = server.requests();
  EXPECT_EQ(requests.size(), static_cast<std::size_t>(number(test_case, "attempts", -1)));
  const std::string key = std::visit([](const auto& end) { return end.key; }, result);
  const int attempts = std::visit([](const auto& end) { return end.attempts; }, result);
  EXPECT_EQ(static_cast<std::size_t>(attempts), requests.size());
  for (const HttpMessage& request : requests) {
    EXPECT_EQ(request.start_line, "POST /base/orders HTTP/1.1");
    EXPECT_EQ(request.body, operation.body);
    EXPECT_EQ(request.header("Idempotency-Key"), text(test_case, "key_sent", key));
  }
  if (has(test_case, "kept")) {
    EXPECT_EQ(key, text(test_case["kept"].value(), "key"));
  }
  if (has(test_case, "kept_after")) {
    EXPECT_EQ(file_.list()->size(), test_case["kept_after"].get_bool().value() ? 1U : 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(All, ClientCase, ::testing::Range(std::size_t{0}, cases().size()),
                         [](const auto& each) {
                           std::string name = text(cases()[each.param], "name");
                           for (char& letter : name) {
                             if (!std::isalnum(static_cast<unsigned char>(letter))) letter = '_';
                           }
                           return name;
                         });

}  // namespace
}  // namespace oncekey::test
