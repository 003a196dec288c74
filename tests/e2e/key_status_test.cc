// A caller looks up its own key (SPEC W6, T3).
#include "e2e/later_fixture.h"

namespace oncekey::test {
namespace {

class KeyStatus : public LaterFixture {};

const std::string by_header = "[tenant]\nfrom = \"header\"\nheader = \"X-Tenant\"\n";

TEST_P(KeyStatus, TellsEveryStateWithoutReachingTheUpstream) {
  serve_here("");
  EXPECT_EQ(look(key_a).status, 404);
  auto running = post_held(key_a, "first");
  HttpResponse status = look(key_a);
  EXPECT_EQ(status.status, 200);
  EXPECT_EQ(status.header("Content-Type"), "application/json");
  EXPECT_EQ(status.header("Cache-Control"), "no-store");
  EXPECT_EQ(status.header("Retry-After"), "1");
  EXPECT_EQ(state(status), "in_progress");
  EXPECT_EQ(code(look(key_a + "/answer")), "request_in_flight");
  upstream_.open_gate("first");
  HttpResponse first = running->receive();
  status = look(key_a);
  EXPECT_EQ(state(status), "completed");
  EXPECT_EQ(json_text(status.body, "/status"), "201");
  EXPECT_EQ(json_text(status.body, "/replay_available"), "true");
  EXPECT_EQ(json_text(status.body, "/expires_at"), first.header("Idempotency-Expires"));
  EXPECT_EQ(status.header("Retry-After"), "");
  HttpResponse answer = look(key_a + "/answer");
  EXPECT_EQ(answer.status, first.status);
  EXPECT_EQ(answer.body, first.body);
  EXPECT_EQ(answer.header("Location"), first.header("Location"));
  EXPECT_EQ(answer.header("Content-Type"), first.header("Content-Type"));
  EXPECT_EQ(answer.header("Cache-Control"), "no-store");
  EXPECT_EQ(answer.count("Cache-Control"), 1u);
  EXPECT_EQ(look(key_a + "/answer", "", "HEAD").body, "");

  EXPECT_EQ(post(key_b, "reset-unanswered").status, 502);
  EXPECT_EQ(state(look(key_b)), "unknown");
  EXPECT_EQ(code(look(key_b + "/answer")), "outcome_unknown");
  EXPECT_GE(std::stoi(look(key_b).header("Retry-After")), 1);

  const std::string failed = "key-of-a-failure-1234";
  EXPECT_EQ(post(failed, "status=503").status, 503);
  EXPECT_EQ(state(look(failed)), "failed_retryable");
  EXPECT_EQ(code(look(failed + "/answer")), "not_executed");
  EXPECT_EQ(upstream_.audit().size(), 3u);
}

TEST_P(KeyStatus, ForeignKeyIsAsAbsentAsAnyOther) {
  serve_here(by_header);
  ASSERT_EQ(gateway_->send(order(key_a).with("X-Tenant", "acme")).status, 201);
  EXPECT_EQ(look(key_a, "acme").status, 200);
  const auto without_instance = [](HttpResponse response) {
    std::string text = response.start_line + "\n";
    for (const Header& header : response.headers) {
      if (header.name != "Date") text += header.name + ": " + header.value + "\n";
    }
    const std::size_t at = response.body.find("urn:uuid:");
    EXPECT_NE(at, std::string::npos);
    if (at != std::string::npos) response.body.erase(at, std::string("urn:uuid:").size() + 36);
    return text + response.body;
  };
  for (const std::string& path : {key_a, key_a + "/answer"}) {
    HttpResponse foreign = look(path, "bolt");
    EXPECT_EQ(foreign.status, 404);
    EXPECT_EQ(without_instance(foreign), without_instance(look(key_b, "bolt")));
  }
  EXPECT_EQ(look(key_a).status, 401);
}

TEST_P(KeyStatus, KeyIsPercentDecodedOnceAndOnlyWhole) {
  serve_here("");
  const std::string odd = "odd key/with % and \\ in it";
  HttpRequest request = order("");
  request.with("Idempotency-Key", odd);
  ASSERT_EQ(gateway_->send(request).status, 201);
  const std::string path = "odd%20key%2Fwith%20%25%20and%20%5C%20in%20it";
  EXPECT_EQ(state(look(path)), "completed");
  EXPECT_EQ(look(path + "/answer").status, 201);
  EXPECT_EQ(look("odd%20key/with%20%25%20and%20%5C%20in%20it").status, 404);
  EXPECT_EQ(look(path + "/other").status, 404);
  EXPECT_EQ(look("%").status, 404);
  EXPECT_EQ(look("%zz").status, 404);
  EXPECT_EQ(look("%00" + key_a).status, 404);
  EXPECT_EQ(look("").status, 404);
  EXPECT_EQ(look(std::string(300, 'x')).status, 404);
  EXPECT_EQ(look(key_a, "", "DELETE").status, 501);
  EXPECT_EQ(upstream_.audit().size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Stores, KeyStatus, ::testing::Values("rocksdb", "postgres"),
                         later_store_name);

}  // namespace
}  // namespace oncekey::test
