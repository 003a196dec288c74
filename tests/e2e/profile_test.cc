// The wire answers of both profiles, and a route's own statuses (SPEC W, W1).
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class Profiles : public GatewayFixture {};

TEST_F(Profiles, IetfProblemsCarryWhatAClientNeedsToDecide) {
  serve();
  post(key_a);
  HttpResponse mismatch = post(key_a, "", "{\"amount\":2}");
  EXPECT_EQ(mismatch.header("Content-Type"), "application/problem+json");
  EXPECT_EQ(json_text(mismatch.body, "/status"), "422");
  EXPECT_NE(json_text(mismatch.body, "/title"), "");
  EXPECT_EQ(json_text(mismatch.body, "/retryable"), "false");
  EXPECT_EQ(json_text(mismatch.body, "/safe_new_key"), "true");
  post(key_b, "reset-unanswered");
  HttpResponse unknown = post(key_b);
  EXPECT_EQ(json_text(unknown.body, "/safe_new_key"), "false");
}

TEST_F(Profiles, StripeUsesItsOwnEnvelopeStatusesAndMarker) {
  serve("[[route]]\nmatch = \"POST /orders\"\nprofile = \"stripe\"\n");
  HttpResponse missing = post("");
  EXPECT_EQ(missing.status, 400);
  EXPECT_NE(json_text(missing.body, "/error/message"), "");
  HttpResponse first = post(key_a);
  HttpResponse retry = post(key_a);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(retry.header("Idempotent-Replayed"), "true");
  EXPECT_EQ(retry.count("Idempotency-Replayed"), 0u);
  HttpResponse mismatch = post(key_a, "", "{\"amount\":2}");
  EXPECT_EQ(mismatch.status, 400);
  EXPECT_EQ(json_text(mismatch.body, "/error/type"), "idempotency_error");
  EXPECT_EQ(mismatch.header("Stripe-Should-Retry"), "false");
  auto held = post_held(key_b, "gate");
  HttpResponse running = post(key_b);
  EXPECT_EQ(running.status, 409);
  EXPECT_EQ(json_text(running.body, "/error/code"), "idempotency_key_in_use");
  EXPECT_EQ(running.header("Stripe-Should-Retry"), "true");
  upstream_.open_gate("gate");
  EXPECT_EQ(held->receive().status, 201);
  post("unknown-under-stripe", "reset-unanswered");
  EXPECT_EQ(post("unknown-under-stripe").status, 409);
}

TEST_F(Profiles, StatusesAreTheRoutes) {
  serve(
      "[[route]]\nmatch = \"POST /orders\"\nresponse_limit = \"1KiB\"\n"
      "status = { mismatch = 409, in_flight = 425, unknown = 503, expired = 404 }\n");
  auto held = post_held(key_a, "gate");
  EXPECT_EQ(post(key_a).status, 425);
  upstream_.open_gate("gate");
  EXPECT_EQ(held->receive().status, 201);
  EXPECT_EQ(post(key_a, "", "{\"amount\":2}").status, 409);
  post(key_b, "reset-unanswered");
  EXPECT_EQ(post(key_b).status, 503);
}

TEST_F(Profiles, PublishedPolicyTellsEveryRouteInJsonAndForPeople) {
  serve(
      "[[route]]\nmatch = \"POST /payments/*\"\nkey_syntax = \"strict\"\nretention = \"48h\"\n"
      "profile = \"stripe\"\n[[route]]\nmatch = \"POST /orders\"\n");
  HttpRequest request{.method = "GET", .target = "/.well-known/idempotency"};
  HttpResponse json = gateway_->send(request);
  EXPECT_EQ(json.status, 200);
  EXPECT_TRUE(json.header("Content-Type").starts_with("application/json"));
  EXPECT_TRUE(is_json(json.body)) << json.body;
  EXPECT_NE(json.body.find("POST /payments/*"), std::string::npos);
  EXPECT_NE(json.body.find("strict"), std::string::npos);
  request.with("Accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8");
  HttpResponse html = gateway_->send(request);
  EXPECT_EQ(html.status, 200);
  EXPECT_TRUE(html.header("Content-Type").starts_with("text/html"));
  EXPECT_NE(html.body.find("/payments/*"), std::string::npos);
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

}  // namespace
}  // namespace oncekey::test
