// Where the key comes from and which ones are taken (SPEC K; Q 7, 18).
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class KeyAtTheGateway : public GatewayFixture {
 protected:
  int status_of(const std::string& key) { return post(key).status; }
};

TEST_F(KeyAtTheGateway, MissingIsRefusedWithAnExplanationAndALink) {
  serve();
  HttpResponse response = post("");
  EXPECT_EQ(response.status, 400);
  EXPECT_EQ(code(response), "idempotency_key_missing");
  EXPECT_NE(json_text(response.body, "/detail").find("Idempotency-Key"), std::string::npos);
  EXPECT_NE(json_text(response.body, "/type").find("/.well-known/idempotency"), std::string::npos);
  EXPECT_NE(response.header("Link").find("describedby"), std::string::npos);
  EXPECT_EQ(response.header("Content-Language"), "en");
  EXPECT_EQ(json_text(response.body, "/instance").rfind("urn:uuid:", 0), 0u);
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

TEST_F(KeyAtTheGateway, PatchNeedsOneAndGetHeadPutDeleteOptionsDoNot) {
  serve();
  HttpRequest patch = order("");
  patch.method = "PATCH";
  EXPECT_EQ(gateway_->send(patch).status, 400);
  for (const char* method : {"GET", "HEAD", "PUT", "DELETE", "OPTIONS"}) {
    HttpRequest request{.method = method, .target = "/orders/1"};
    EXPECT_EQ(gateway_->send(request).status, 201) << method;
    EXPECT_EQ(gateway_->send(request).status, 201) << method;
  }
  EXPECT_EQ(upstream_.audit().size(), 10u);
}

TEST_F(KeyAtTheGateway, BadOnesAreRefused) {
  serve();
  EXPECT_EQ(status_of("short"), 400);
  EXPECT_EQ(status_of("\"\""), 400);
  EXPECT_EQ(status_of(std::string(256, 'k')), 400);
  EXPECT_EQ(status_of("key-with-\xc3\xa9-accent-in-it"), 400);
  EXPECT_EQ(status_of("\"unterminated-quoted-key"), 400);
  HttpRequest twice = order(key_a);
  twice.with("Idempotency-Key", key_a);
  EXPECT_EQ(gateway_->send(twice).status, 400);
  HttpRequest empty = order("");
  empty.with("Idempotency-Key", "");
  EXPECT_EQ(gateway_->send(empty).status, 400);
  EXPECT_EQ(upstream_.audit().size(), 0u);
  EXPECT_EQ(status_of(std::string(255, 'k')), 201);
}

TEST_F(KeyAtTheGateway, QuotedAndBareAreTheSameKey) {
  serve();
  HttpResponse first = post("\"" + key_a + "\"");
  HttpResponse retry = post(key_a);
  HttpResponse with_parameter = post("\"" + key_a + "\";v=1");
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(with_parameter.body, first.body);
  EXPECT_EQ(upstream_.audit().size(), 1u);
}

TEST_F(KeyAtTheGateway, StrictSyntaxTakesOnlyQuotedStrings) {
  serve("[[route]]\nmatch = \"POST /orders\"\nkey_syntax = \"strict\"\n");
  EXPECT_EQ(status_of(key_a), 400);
  EXPECT_EQ(status_of("\"" + key_a + "\""), 201);
}

TEST_F(KeyAtTheGateway, ShortKeysAreTakenWhereTheRouteSaysSo) {
  serve("[[route]]\nmatch = \"POST /orders\"\nkey_min_length = 1\n");
  EXPECT_EQ(status_of("7"), 201);
}

TEST_F(KeyAtTheGateway, HeaderNameIsTheRoutes) {
  serve(
      "[[route]]\nmatch = \"POST /orders\"\nkey_header = \"X-Idempotency-Key\"\n"
      "[[route]]\nmatch = \"POST /payments\"\nkey_header = \"PayPal-Request-Id\"\n");
  EXPECT_EQ(status_of(key_a), 400);
  for (auto [target, name] :
       {std::pair("/orders", "X-Idempotency-Key"), std::pair("/payments", "PayPal-Request-Id")}) {
    HttpRequest request = order("");
    request.target = target;
    request.with(name, key_a + target);
    HttpResponse first = gateway_->send(request);
    HttpResponse retry = gateway_->send(request);
    EXPECT_EQ(first.status, 201) << name;
    EXPECT_EQ(retry.body, first.body) << name;
    EXPECT_EQ(retry.header("Idempotency-Replayed"), "true") << name;
    EXPECT_EQ(upstream_.audit().all().back().request.header(name), key_a + target);
  }
}

TEST_F(KeyAtTheGateway, KeyInTheBodyIsFoundByItsPointer) {
  serve("[[route]]\nmatch = \"POST /orders\"\nkey_pointer = \"/meta/idempotency_key\"\n");
  std::string body = R"({"meta":{"idempotency_key":")" + key_a + R"("},"amount":1})";
  HttpResponse first = post("", "", body);
  HttpResponse retry = post("", "", body);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(retry.body, first.body);
  EXPECT_EQ(upstream_.audit().size(), 1u);
  EXPECT_EQ(post("", "", "{\"amount\":1}").status, 400);
  EXPECT_EQ(post("", "", R"({"meta":{"idempotency_key":7}})").status, 400);
  EXPECT_EQ(upstream_.audit().size(), 1u);
}

TEST_F(KeyAtTheGateway, OptionalAndOffAreRespectedAndRequiredReachesPut) {
  serve(
      "[[route]]\nmatch = \"POST /optional\"\nkey = \"optional\"\n"
      "[[route]]\nmatch = \"POST /off\"\nkey = \"off\"\n"
      "[[route]]\nmatch = \"PUT,DELETE /strict/*\"\nkey = \"required\"\n");
  HttpRequest request = order("");
  request.target = "/optional";
  EXPECT_EQ(gateway_->send(request).status, 201);
  EXPECT_EQ(gateway_->send(request).status, 201);
  request.with("Idempotency-Key", key_a);
  HttpResponse first = gateway_->send(request);
  EXPECT_EQ(gateway_->send(request).body, first.body);
  HttpRequest off = order(key_b);
  off.target = "/off";
  EXPECT_NE(gateway_->send(off).body, gateway_->send(off).body);
  HttpRequest put = order("");
  put.method = "PUT";
  put.target = "/strict/1/deep";
  EXPECT_EQ(gateway_->send(put).status, 400);
  put.with("Idempotency-Key", key_b + "-put");
  EXPECT_EQ(gateway_->send(put).body, gateway_->send(put).body);
}

TEST_F(KeyAtTheGateway, FirstMatchingRouteWinsAndAnEvasivePathDoesNotEscapeIt) {
  serve(
      "[[route]]\nmatch = \"POST /orders/*\"\nkey = \"required\"\n"
      "[[route]]\nmatch = \"POST /*\"\nkey = \"off\"\n");
  for (const char* target :
       {"/orders/1", "/%6Frders/1", "//orders/1", "/./orders/1", "/x/../orders/1", "/orders%2F1"}) {
    HttpRequest request = order("");
    request.target = target;
    EXPECT_EQ(gateway_->send(request).status, 400) << target;
  }
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

}  // namespace
}  // namespace oncekey::test
