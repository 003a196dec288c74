// A replay is the first answer: its bytes, its status, its lasting headers (SPEC W2, W3).
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class ReplayAtTheGateway : public GatewayFixture {};

TEST_F(ReplayAtTheGateway, RepeatsLastingHeadersAndNotTransientOnes) {
  serve();
  HttpResponse first = post(key_a);
  HttpResponse retry = post(key_a);
  EXPECT_NE(first.header("Set-Cookie"), "") << "the first client gets its cookie";
  for (const char* name : {"Location", "ETag", "Content-Type"}) {
    EXPECT_NE(retry.header(name), "") << name;
    EXPECT_EQ(retry.header(name), first.header(name)) << name;
    EXPECT_EQ(retry.count(name), 1u) << name;
  }
  EXPECT_EQ(retry.count("Set-Cookie"), 0u);
  EXPECT_NE(retry.header("Date"), "Tue, 02 Jan 2024 03:04:05 GMT");
  EXPECT_EQ(retry.count("Idempotency-Replayed"), 1u);
}

TEST_F(ReplayAtTheGateway, BothAnswersEchoTheKeyAndSayUntilWhen) {
  serve();
  HttpResponse first = post(key_a);
  HttpResponse retry = post(key_a);
  for (const HttpResponse& response : {first, retry}) {
    EXPECT_NE(response.header("Idempotency-Key").find(key_a), std::string::npos);
    std::string expires = response.header("Idempotency-Expires");
    ASSERT_EQ(expires.size(), 20u) << expires;
    EXPECT_EQ(expires[10], 'T');
    EXPECT_EQ(expires[19], 'Z');
  }
  EXPECT_EQ(first.header("Idempotency-Expires"), retry.header("Idempotency-Expires"));
}

TEST_F(ReplayAtTheGateway, BodiesOfEveryKindComeBackByteForByte) {
  serve();
  int number = 0;
  for (const char* behaviour :
       {"size=0", "size=1", "binary size=1", "binary size=5000", "size=5000", "size=900000",
        "binary size=900000", "binary size=300000 chunked", "size=0 chunked",
        "binary size=70000 to-end", "status=200 to-end", "size=65536", "close size=10"}) {
    std::string key = "body-of-every-kind-" + std::to_string(++number);
    HttpResponse first = post(key, behaviour);
    HttpResponse retry = post(key, behaviour);
    EXPECT_NE(first.status, 0) << behaviour << first.failure;
    EXPECT_EQ(retry.status, first.status) << behaviour;
    EXPECT_EQ(first.body, upstream_.audit().of_key(key)[0].answer) << behaviour;
    EXPECT_TRUE(retry.body == first.body) << behaviour;
    EXPECT_EQ(retry.header("Idempotency-Replayed"), "true") << behaviour;
    EXPECT_EQ(arrivals(key), 1u) << behaviour;
  }
}

TEST_F(ReplayAtTheGateway, SurvivesARestart) {
  serve();
  HttpResponse small = post(key_a);
  HttpResponse large = post(key_b, "binary size=400000");
  gateway_->restart();
  EXPECT_EQ(post(key_a).body, small.body);
  HttpResponse again = post(key_b);
  EXPECT_TRUE(again.body == large.body);
  EXPECT_EQ(again.header("Location"), large.header("Location"));
  EXPECT_EQ(upstream_.audit().size(), 2u);
}

TEST_F(ReplayAtTheGateway, ClientErrorsAreAnswersToo) {
  serve();
  for (int status : {400, 402, 404, 409, 422}) {
    std::string key = "client-error-" + std::to_string(status);
    HttpResponse first = post(key, "status=" + std::to_string(status));
    HttpResponse retry = post(key);
    EXPECT_EQ(first.status, status);
    EXPECT_EQ(retry.status, status);
    EXPECT_EQ(retry.body, first.body);
    EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
    EXPECT_EQ(arrivals(key), 1u);
  }
}

TEST_F(ReplayAtTheGateway, AnswersWithoutBodyReplay) {
  serve();
  HttpResponse first = post(key_a, "status=204");
  HttpResponse retry = post(key_a);
  EXPECT_EQ(first.status, 204);
  EXPECT_EQ(retry.status, 204);
  EXPECT_EQ(retry.body, "");
  EXPECT_EQ(retry.count("Content-Length"), 0u);
  EXPECT_EQ(retry.count("Transfer-Encoding"), 0u);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(ReplayAtTheGateway, ConfiguredHeaderListDecides) {
  serve(
      "[[route]]\nmatch = \"POST /orders\"\nreplay_headers = [\"x-upstream\", \"content-type\"]\n");
  post(key_a);
  HttpResponse retry = post(key_a);
  EXPECT_EQ(retry.header("X-Upstream"), "scripted");
  EXPECT_EQ(retry.count("Location"), 0u);
}

TEST_F(ReplayAtTheGateway, AfterRetentionTheKeyIsNew) {
  serve("[[route]]\nmatch = \"POST /orders\"\nretention = \"3s\"\n");
  HttpResponse first = post(key_a);
  EXPECT_EQ(post(key_a).body, first.body);
  HttpResponse second;
  EXPECT_TRUE(eventually([&] {
    second = post(key_a);
    return second.body != first.body;
  }));
  EXPECT_EQ(second.status, 201);
  EXPECT_NE(second.body, first.body);
  EXPECT_EQ(second.count("Idempotency-Replayed"), 0u);
  EXPECT_EQ(arrivals(key_a), 2u);
}

TEST_F(ReplayAtTheGateway, AfterRetentionATombstoneStillPreventsASecondExecution) {
  serve("[[route]]\nmatch = \"POST /orders\"\nretention = \"1s\"\non_expired = \"tombstone\"\n");
  post(key_a);
  HttpResponse late;
  EXPECT_TRUE(eventually([&] {
    late = post(key_a);
    return late.status != 201;
  }));
  EXPECT_EQ(late.status, 410);
  EXPECT_EQ(code(late), "result_expired");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(ReplayAtTheGateway, AnswerTooLargeToKeepReachesTheFirstClientAndLeavesATombstone) {
  serve("[[route]]\nmatch = \"POST /orders\"\nresponse_limit = \"64KiB\"\n");
  for (const char* behaviour : {"binary size=300000", "binary size=300000 chunked",
                                "binary size=300000 to-end", "size=65537"}) {
    std::string key = "too-large-" + std::to_string(checksum(behaviour));
    HttpResponse first = post(key, behaviour);
    EXPECT_EQ(first.status, 201) << behaviour << first.failure;
    EXPECT_TRUE(first.body == upstream_.audit().of_key(key)[0].answer) << behaviour;
    HttpResponse retry = post(key, behaviour);
    EXPECT_EQ(retry.status, 410) << behaviour;
    EXPECT_EQ(arrivals(key), 1u) << behaviour;
  }
  EXPECT_EQ(post(key_a, "size=65536").status, 201);
  EXPECT_EQ(post(key_a).body.size(), 65536u);
}

}  // namespace
}  // namespace oncekey::test
