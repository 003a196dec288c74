// What the table cannot say: real time, connections that do not come about, what cannot be sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <thread>

#include "oncekey/client.h"
#include "support/listed_answers.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

ClientOptions quick() {
  ClientOptions options;
  options.backoff_ms = 1;
  options.attempts_max = 3;
  return options;
}

TEST(ClientTrouble, SilenceEndsWithTheAttemptsTimeout) {
  const ListedAnswers server({{.way = ListedAnswer::Way::silence}, {.status = 201, .body = "{}"}});
  ClientOptions options = quick();
  options.attempt_timeout_ms = 1'000;
  const ClientResult result = Client(server.url(), options).run({});
  ASSERT_TRUE(std::holds_alternative<Finished>(result)) << std::get<GaveUp>(result).detail;
  EXPECT_EQ(std::get<Finished>(result).attempts, 2);
}

TEST(ClientTrouble, DeadlineEndsAnAttempt) {
  const ListedAnswers server({{.way = ListedAnswer::Way::silence}});
  ClientOptions options = quick();
  options.deadline_ms = 100;
  const ClientResult result = Client(server.url(), options).run({});
  const auto& gave_up = std::get<GaveUp>(result);
  EXPECT_EQ(gave_up.why, GaveUp::Why::deadline) << gave_up.detail;
  EXPECT_TRUE(gave_up.same_key_is_safe);
}

TEST(ClientTrouble, StopRequestEndsAnAttempt) {
  const ListedAnswers server({{.way = ListedAnswer::Way::silence}});
  std::stop_source stop;
  std::thread stopper([&] {
    server.wait_for_requests(1);
    stop.request_stop();
  });
  const ClientResult result = Client(server.url()).run({}, stop.get_token());
  stopper.join();
  const auto& gave_up = std::get<GaveUp>(result);
  EXPECT_EQ(gave_up.why, GaveUp::Why::aborted) << gave_up.detail;
  EXPECT_EQ(gave_up.attempts, 1);
  EXPECT_TRUE(gave_up.same_key_is_safe);
}

TEST(ClientTrouble, StopRequestEndsAPause) {
  const ListedAnswers server({{.status = 503, .headers = {{"Retry-After", "100"}}, .body = "{}"}});
  std::stop_source stop;
  std::thread stopper([&] {
    server.wait_for_requests(1);
    stop.request_stop();
  });
  const auto begun = std::chrono::steady_clock::now();
  const ClientResult result = Client(server.url()).run({}, stop.get_token());
  stopper.join();
  EXPECT_EQ(std::get<GaveUp>(result).why, GaveUp::Why::aborted);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(50));
}

TEST(ClientTrouble, RefusedConnectionIsTriedAgainAndProvesNothingRan) {
  const std::string url = "http://127.0.0.1:" + std::to_string(free_port());
  const ClientResult result = Client(url, quick()).run({});
  const auto& gave_up = std::get<GaveUp>(result);
  EXPECT_EQ(gave_up.why, GaveUp::Why::attempts);
  EXPECT_EQ(gave_up.attempts, 3);
  EXPECT_NE(gave_up.detail.find("refused"), std::string::npos) << gave_up.detail;
}

TEST(ClientTrouble, AnswersOfEveryFramingAreRead) {
  ScriptedUpstream upstream;
  for (const char* behaviour : {"size=100000", "size=100000 chunked", "size=100000 to-end",
                                "status=204", "early-hints", "size=70000 binary chunked"}) {
    const ClientResult result =
        Client(upstream.url(), quick())
            .run({.target = "/orders", .headers = {{std::string(behaviour_header), behaviour}}});
    ASSERT_TRUE(std::holds_alternative<Finished>(result)) << behaviour;
    EXPECT_EQ(std::get<Finished>(result).answer.body, upstream.audit().all().back().answer)
        << behaviour;
    EXPECT_EQ(std::get<Finished>(result).attempts, 1) << behaviour;
  }
}

TEST(ClientTrouble, LongAnswerIsCutAndMarked) {
  ScriptedUpstream upstream;
  ClientOptions options = quick();
  options.answer_size_max = 1000;
  const ClientResult result =
      Client(upstream.url(), options)
          .run({.headers = {{std::string(behaviour_header), "size=100000"}}});
  const auto& finished = std::get<Finished>(result);
  EXPECT_TRUE(finished.answer.body_cut);
  EXPECT_EQ(finished.answer.body.size(), 1000U);
}

TEST(ClientTrouble, EveryOperationHasAKeyOfItsOwn) {
  const ListedAnswers server({{.status = 201, .body = "{}"}});
  const Client client(server.url());
  const auto first = std::get<Finished>(client.run({}));
  const auto second = std::get<Finished>(client.run({}));
  for (const std::string& key : {first.key, second.key}) {
    std::string shape = key;  // each hexadecimal digit as x
    std::replace_if(
        shape.begin(), shape.end(), [](unsigned char c) { return std::isxdigit(c); }, 'x');
    EXPECT_EQ(shape, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx");
    EXPECT_EQ(key[14], '4') << key;
    EXPECT_NE(std::string("89ab").find(key[19]), std::string::npos) << key;
  }
  EXPECT_NE(first.key, second.key);
}

TEST(ClientTrouble, WhatCannotBeSentIsNotSentAndNotKept) {
  const ListedAnswers server({{.status = 201, .body = "{}"}});
  const TemporaryFolder folder;
  KeyFile file((folder.path() / "keys").string());
  ClientOptions options;
  options.key_file = &file;
  const Client client(server.url(), options);
  const Header smuggled{"X-Note", "a\r\nX-Other: b"};
  for (const ClientOperation& operation :
       {ClientOperation{.method = "PO ST"}, ClientOperation{.target = "orders"},
        ClientOperation{.target = "/a b"}, ClientOperation{.target = "/a\r\nHost: b"},
        ClientOperation{.headers = {smuggled}},
        ClientOperation{.headers = {{"Idempotency-Key", "mine"}}},
        ClientOperation{.headers = {{"content-length", "1"}}}, ClientOperation{.key = "a key"},
        ClientOperation{.key = "a\"key"}, ClientOperation{.key = std::string(256, 'a')}}) {
    ClientOperation named = operation;
    named.name = "operation";
    const ClientResult result = client.run(named);
    ASSERT_TRUE(std::holds_alternative<GaveUp>(result));
    EXPECT_EQ(std::get<GaveUp>(result).why, GaveUp::Why::invalid);
    EXPECT_FALSE(std::get<GaveUp>(result).detail.empty());
  }
  EXPECT_EQ(std::get<GaveUp>(Client("ftp://127.0.0.1").run({})).why, GaveUp::Why::invalid);
  EXPECT_TRUE(server.requests().empty());
  EXPECT_TRUE(file.list()->empty());
}

TEST(ClientTrouble, KeyThatCannotBeKeptIsNotUsed) {
  const ListedAnswers server({{.status = 201, .body = "{}"}});
  const TemporaryFolder folder;
  KeyFile file(folder.write("keys", "not a key file"));
  ClientOptions options;
  options.key_file = &file;
  const ClientResult result = Client(server.url(), options).run({.name = "operation"});
  EXPECT_EQ(std::get<GaveUp>(result).why, GaveUp::Why::key_file);
  EXPECT_TRUE(server.requests().empty());
}

TEST(ClientTrouble, GivenKeyThatContradictsTheFileIsRefused) {
  const ListedAnswers server({{.status = 201, .body = "{}"}});
  const TemporaryFolder folder;
  KeyFile file((folder.path() / "keys").string());
  ASSERT_TRUE(file.take("operation", "the-first-key", 1));
  ClientOptions options;
  options.key_file = &file;
  const ClientResult result =
      Client(server.url(), options).run({.key = "the-second-key", .name = "operation"});
  EXPECT_EQ(std::get<GaveUp>(result).why, GaveUp::Why::invalid);
  EXPECT_TRUE(server.requests().empty());
  EXPECT_EQ(file.list()->front().key, "the-first-key");
}

}  // namespace
}  // namespace oncekey::test
