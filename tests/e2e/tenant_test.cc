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
  std::string shown = gateway_->admin("/v1/keys").body + gateway_->admin("/metrics").body +
                      gateway_->process().output();
  EXPECT_EQ(shown.find("_secret"), std::string::npos);
}

// The tests come from 127.0.0.1, which is then a stranger.
TEST_F(Tenants, HeaderFromAStrangerIsRefusedAndNeverPassedOn) {
  serve("[tenant]\nfrom = \"header\"\ntrusted = [\"10.0.0.0/8\"]\nprincipal_header = \"X-User\"\n");
  HttpResponse refused = gateway_->send(of("X-Tenant", "acme"));
  EXPECT_EQ(refused.status, 401);
  EXPECT_EQ(code(refused), "credentials_refused");
  EXPECT_NE(refused.body.find("tenant.trusted"), std::string::npos) << refused.body;
  EXPECT_EQ(upstream_.audit().size(), 0u);
  HttpRequest read{.method = "GET"};
  read.with("x-tenant", "acme").with("X-User", "root").with("X-Other", "kept");
  read.with("Authorization", "Bearer kept").with(std::string(behaviour_header), "echo");
  const HttpResponse echoed = gateway_->send(read);
  EXPECT_EQ(echoed.body.find("acme"), std::string::npos) << echoed.body;
  EXPECT_EQ(echoed.body.find("root"), std::string::npos) << echoed.body;
  EXPECT_NE(echoed.body.find("X-Other"), std::string::npos);
  EXPECT_NE(echoed.body.find("Bearer kept"), std::string::npos);
}

TEST_F(Tenants, HeaderFromATrustedAddressReachesTheUpstream) {
  serve("[tenant]\nfrom = \"header\"\n");
  EXPECT_EQ(gateway_->send(of("X-Tenant", "acme")).status, 201);
  EXPECT_EQ(upstream_.audit().of_key(key_a).at(0).request.header("X-Tenant"), "acme");
}

// A client names the tenant's header in Connection, so that the upstream would not see it.
TEST_F(Tenants, HeaderCannotBeTakenAway) {
  serve("[tenant]\nfrom = \"header\"\nprincipal_header = \"X-User\"\n");
  HttpRequest request = of("X-Tenant", "acme");
  request.with("X-User", "bob").with("Connection", "X-Tenant, X-User");
  EXPECT_EQ(gateway_->send(request).status, 201);
  EXPECT_EQ(upstream_.audit().of_key(key_a).at(0).request.header("X-Tenant"), "acme");
  EXPECT_EQ(upstream_.audit().of_key(key_a).at(0).request.header("X-User"), "bob");
}

}  // namespace
}  // namespace oncekey::test
