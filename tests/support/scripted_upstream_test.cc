#include "support/scripted_upstream.h"

#include <gtest/gtest.h>

#include "support/http_client.h"
#include "support/process.h"

namespace oncekey::test {
namespace {

HttpRequest order(const std::string& key, const std::string& behaviour = "") {
  HttpRequest request{.body = "{\"amount\":1}"};
  request.with("Idempotency-Key", key);
  if (!behaviour.empty()) request.with(std::string(behaviour_header), behaviour);
  return request;
}

TEST(ScriptedUpstream, AnswersAreUniqueAndEntered) {
  ScriptedUpstream upstream;
  HttpConnection connection(upstream.port());
  HttpResponse first = connection.exchange(order("a"));
  HttpResponse second = connection.exchange(order("a"));
  EXPECT_EQ(first.status, 201);
  EXPECT_NE(first.body, second.body);
  EXPECT_EQ(upstream.audit().effects("a"), 2u);
  EXPECT_EQ(upstream.audit().of_key("a")[0].request.body, "{\"amount\":1}");
  EXPECT_EQ(upstream.audit().of_key("a")[1].answer, second.body);
}

TEST(ScriptedUpstream, EndingsLookLikeWhatTheyAre) {
  ScriptedUpstream upstream;
  for (const char* ending : {"reset-at-head", "reset-unanswered", "reset-at-first-byte", "cut-body",
                             "cut-body chunked"}) {
    HttpResponse response = exchange(upstream.port(), order("a", ending));
    EXPECT_EQ(response.status, 0) << ending;
    EXPECT_NE(response.failure, "no complete answer in time") << ending;
  }
  EXPECT_EQ(exchange(upstream.port(), order("b", "early-hints")).interim.size(), 1u);
}

TEST(ScriptedUpstream, BodiesComeInEveryFraming) {
  ScriptedUpstream upstream;
  for (const char* framing : {"", " chunked", " to-end"}) {
    HttpResponse response =
        exchange(upstream.port(), order("a", std::string("binary size=200000") + framing));
    EXPECT_EQ(response.status, 201) << framing;
    EXPECT_EQ(response.body, upstream.audit().all().back().answer) << framing;
  }
}

TEST(ScriptedUpstream, HeldRequestsWaitForTheirGateAndTheStormIsServed) {
  ScriptedUpstream upstream;
  HttpConnection held(upstream.port());
  held.send(order("held", "hold=gate").bytes());
  ASSERT_TRUE(upstream.audit().wait_for_arrivals("held", 1));
  for (const HttpResponse& response : storm(upstream.port(), order("many").bytes(), 300)) {
    ASSERT_EQ(response.status, 201);
  }
  upstream.open_gate("gate");
  EXPECT_EQ(held.receive().status, 201);
}

TEST(ScriptedUpstream, UpgradeSendsBackWhatComes) {
  ScriptedUpstream upstream;
  HttpConnection connection(upstream.port());
  HttpRequest request{.method = "GET"};
  request.with(std::string(behaviour_header), "upgrade");
  EXPECT_EQ(connection.exchange(request).status, 101);
  connection.send("ping");
  EXPECT_EQ(connection.receive_raw(4), "ping");
}

TEST(Process, LinesAndExitCodeAreSeen) {
  Process process({"/bin/sh", "-c", "echo one; echo two >&2; exit 7"});
  EXPECT_TRUE(process.wait_for_line([](const std::string& line) { return line == "two"; }));
  EXPECT_TRUE(process.wait_for_line([](const std::string& line) { return line == "one"; }));
  EXPECT_FALSE(process.wait_for_line([](const std::string& line) { return line == "three"; }));
  EXPECT_EQ(process.wait(), 7);
}

TEST(Process, KilledProcessReportsItsSignal) {
  Process process({"/bin/sleep", "100"});
  EXPECT_EQ(process.wait(Milliseconds(0)), std::nullopt);
  process.signal(9);
  EXPECT_EQ(process.wait(), 128 + 9);
}

}  // namespace
}  // namespace oncekey::test
