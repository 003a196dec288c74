#include "http/client.h"

#include <gtest/gtest.h>

#include <string>

#include "http/test_loop.h"
#include "support/scripted_upstream.h"
#include "support/socket.h"

namespace oncekey::http {
namespace {

Task<void> send_into(Client& client, ClientRequest request, ClientOutcome& outcome) {
  outcome = co_await client.send(request);
}

Task<void> send_twice(Client& client, ClientRequest request, ClientOutcome& first,
                      ClientOutcome& second) {
  first = co_await client.send(request);
  second = co_await client.send(request);
}

class HttpClient : public testing::Test {
 protected:
  ClientOutcome post(const std::string& url, const std::string& behaviour,
                     ClientOptions options = {}) {
    Loop loop;
    Client client(loop, *parse_destination(url), options);
    std::string fields = "X-Test-Behaviour: " + behaviour + "\r\nIdempotency-Key: k\r\n";
    ClientRequest request{"POST", "", fields, "{\"amount\":1}"};
    ClientOutcome outcome;
    RunningTasks tasks(loop);
    tasks.add(send_into(client, request, outcome));
    tasks.wait();
    return outcome;
  }
  ClientOutcome post(const std::string& behaviour, ClientOptions options = {}) {
    return post(upstream_.url() + "/hook?a=b", behaviour, options);
  }

  test::ScriptedUpstream upstream_;
};

TEST_F(HttpClient, WholeAnswerComesWithItsHeaders) {
  const ClientOutcome outcome = post("status=201");
  const auto& answer = std::get<Answered>(outcome);
  EXPECT_EQ(answer.status, 201);
  EXPECT_EQ(answer.body, "{\"id\":\"order-1\"}");
  ASSERT_NE(answer.header("location"), nullptr);
  EXPECT_EQ(*answer.header("location"), "/orders/1");
  EXPECT_EQ(answer.header("retry-after"), nullptr);
  const test::Arrival arrival = upstream_.audit().all().at(0);
  EXPECT_EQ(arrival.target, "/hook?a=b");
  EXPECT_EQ(arrival.request.body, "{\"amount\":1}");
  EXPECT_EQ(arrival.request.header("Host"), "127.0.0.1:" + std::to_string(upstream_.port()));
}

TEST_F(HttpClient, ConnectionIsUsedAgainAfterAWholeAnswer) {
  Loop loop;
  Client client(loop, *parse_destination(upstream_.url()), {});
  ClientOutcome first, second;
  RunningTasks tasks(loop);
  tasks.add(send_twice(client, {"POST", "", "", "x"}, first, second));
  tasks.wait();
  EXPECT_EQ(std::get<Answered>(second).status, 201);
  EXPECT_EQ(upstream_.connections_accepted(), 1u);
}

TEST_F(HttpClient, RefusedConnectIsProofThatNothingWasSent) {
  const ClientOutcome outcome = post("http://127.0.0.1:" + std::to_string(test::free_port()), "");
  EXPECT_NE(std::get<NothingSent>(outcome).error.find("connection refused"), std::string::npos);
}

TEST_F(HttpClient, NameThatCannotBeLookedUpIsProofThatNothingWasSent) {
  EXPECT_TRUE(std::holds_alternative<NothingSent>(post("http://no-such-host.invalid/", "")));
}

TEST_F(HttpClient, ResetAfterTheRequestIsNoAnswer) {
  const ClientOutcome outcome = post("reset-unanswered");
  EXPECT_FALSE(std::get<NoAnswer>(outcome).timed_out);
}

TEST_F(HttpClient, CutBodyIsNoAnswer) {
  EXPECT_TRUE(std::holds_alternative<NoAnswer>(post("cut-body")));
}

TEST_F(HttpClient, SilenceIsNoAnswerAtTheDeadline) {
  const ClientOutcome outcome = post("hold=never", {.timeout_ms = 60});
  EXPECT_TRUE(std::get<NoAnswer>(outcome).timed_out);
  upstream_.open_gate("never");
}

TEST_F(HttpClient, BodyPastTheLimitIsCutAndMarked) {
  const ClientOutcome outcome = post("size=5000", {.response_limit = 1'000});
  const auto& answer = std::get<Answered>(outcome);
  EXPECT_EQ(answer.status, 201);
  EXPECT_TRUE(answer.body_cut);
  EXPECT_EQ(answer.body.size(), 1'000u);
}

TEST(HttpDestination, IsTakenApart) {
  const auto plain = parse_destination("http://example.org");
  EXPECT_EQ(plain->host_port, "example.org:80");
  EXPECT_EQ(plain->target, "/");
  const auto full = parse_destination("http://[::1]:8080/a/b/?c=d");
  EXPECT_EQ(full->host_port, "[::1]:8080");
  EXPECT_EQ(full->authority, "[::1]:8080");
  EXPECT_EQ(full->target, "/a/b/?c=d");
  EXPECT_EQ(parse_destination("http://h:1?q")->target, "/?q");
  EXPECT_FALSE(plain->secure);
  const auto secure = parse_destination("https://example.org/x");
  EXPECT_TRUE(secure->secure);
  EXPECT_EQ(secure->host_port, "example.org:443");
  EXPECT_EQ(secure->authority, "example.org");
}

TEST(HttpDestination, WhatCannotBeMeantIsRefused) {
  for (const char* url : {"", "http://", "ftp://x", "http://a b/", "http://a/b c", "http://a/#b",
                          "http://user@host/", "https://", "127.0.0.1:80"}) {
    EXPECT_FALSE(parse_destination(url)) << url;
  }
}

}  // namespace
}  // namespace oncekey::http
