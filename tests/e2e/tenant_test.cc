// Tenants never meet (SPEC T; Q 3, 16).
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class Tenants : public GatewayFixture {
 protected:
  static HttpRequest of(const std::string& header, const std::string& value,
                        const std::string& key = key_a) {
    HttpRequest request = order(key);
    if (!value.empty()) request.with(header, value);
    return request;
  }
};

TEST_F(Tenants, SameKeyOfTwoTenantsAreTwoRequests) {
  serve("[tenant]\nfrom = \"header\"\nheader = \"X-Tenant\"\n");
  HttpResponse a = gateway_->send(of("X-Tenant", "acme"));
  HttpResponse b = gateway_->send(of("X-Tenant", "bolt"));
  EXPECT_EQ(a.status, 201);
  EXPECT_EQ(b.status, 201);
  EXPECT_NE(a.body, b.body);
  EXPECT_EQ(b.count("Idempotency-Replayed"), 0u);
  EXPECT_EQ(gateway_->send(of("X-Tenant", "acme")).body, a.body);
  EXPECT_EQ(gateway_->send(of("X-Tenant", "bolt")).body, b.body);
  EXPECT_EQ(arrivals(key_a), 2u);
}

TEST_F(Tenants, AnotherTenantCannotSeeThatAKeyIsTakenOrRunning) {
  serve("[tenant]\nfrom = \"header\"\nheader = \"X-Tenant\"\n");
  HttpConnection running(gateway_->port());
  HttpRequest held = of("X-Tenant", "acme");
  held.with(std::string(behaviour_header), "hold=gate");
  running.send(held.bytes());
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  HttpRequest other = of("X-Tenant", "bolt");
  other.body = "{\"amount\":999}";
  EXPECT_EQ(gateway_->send(other).status, 201);
  upstream_.open_gate("gate");
  EXPECT_EQ(running.receive().status, 201);
}

TEST_F(Tenants, MissingOrDoubledTenantIsRefusedBeforeAnything) {
  serve("[tenant]\nfrom = \"header\"\nheader = \"X-Tenant\"\n");
  HttpResponse missing = gateway_->send(of("X-Tenant", ""));
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(code(missing), "credentials_missing");
  HttpRequest twice = of("X-Tenant", "acme");
  twice.with("X-Tenant", "bolt");
  EXPECT_GE(gateway_->send(twice).status, 400);
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

TEST_F(Tenants, ApiKeysSeparateWithoutBeingStoredOrShown) {
  serve("[tenant]\nfrom = \"api_key\"\n");
  HttpResponse a = gateway_->send(of("Authorization", "Bearer sk_live_first_secret"));
  HttpResponse b = gateway_->send(of("Authorization", "Bearer sk_live_second_secret"));
  EXPECT_NE(a.body, b.body);
  EXPECT_EQ(gateway_->send(of("Authorization", "Bearer sk_live_first_secret")).body, a.body);
  EXPECT_EQ(gateway_->send(of("Authorization", "")).status, 401);
  std::string shown = gateway_->admin("/records").body + gateway_->admin("/metrics").body +
                      gateway_->process().output();
  EXPECT_EQ(shown.find("_secret"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::test
