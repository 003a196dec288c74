#include "gateway/tenant_resolver.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "support/temporary_folder.h"
#include "support/token_maker.h"

namespace oncekey::gateway {
namespace {

using test::claims_of;
using test::TokenMaker;
using Kind = TokenMaker::Kind;
using Reason = TenantError::Reason;

constexpr std::string_view secret = "0123456789abcdef0123456789abcdef";

// The loop looks once a second, and so does the file that all loops share.
constexpr DurationMs until_seen_ms = 2 * identity::file_look_every_ms;

class Resolver : public testing::Test {
 protected:
  struct Line {
    std::string name;
    std::string value;
  };

  // Asks one resolver, as the requests of a loop do.
  Result<Caller, TenantError> ask(const std::vector<Line>& lines) {
    http::RequestHead head;
    for (const Line& line : lines) {
      head.fields.push_back({http::FieldId::other, line.name, line.value});
    }
    if (!resolver_) {
      resolver_ =
          std::make_unique<TenantResolver>(config, secret, open_tenant_files(config, nullptr));
    }
    return resolver_->resolve({head, peer, certificate, now}, route);
  }
  std::string scope(const std::vector<Line>& lines) {
    const auto caller = ask(lines);
    return caller ? caller->scope : "refused: " + caller.error().detail;
  }
  std::string bearer(const std::string& token) {
    return scope({{"authorization", "Bearer " + token}});
  }
  Reason refusal(const std::vector<Line>& lines) {
    const auto caller = ask(lines);
    EXPECT_FALSE(caller.ok()) << caller->scope;
    return caller.ok() ? Reason{} : caller.error().reason;
  }
  void from_token(const std::string& keys) {
    config.from = TenantFrom::jwt;
    config.keys = folder.write("keys", keys);
  }

  const test::TemporaryFolder folder;
  TenantConfig config;
  RouteConfig route;
  std::string peer = "127.0.0.1";
  const http::PeerCertificate* certificate = nullptr;
  TimestampMs now = test::now_seconds() * 1'000;

 private:
  std::unique_ptr<TenantResolver> resolver_;
};

TEST_F(Resolver, TokenNamesTheTenantWithItsIssuer) {
  const TokenMaker maker(Kind::ec, "k1");
  from_token(test::jwks({&maker}));
  EXPECT_EQ(bearer(maker.token(claims_of("alice"))), "jwt sub=alice");
  EXPECT_EQ(bearer(maker.token(claims_of("alice", ",\"iss\":\"https://a.example\""))),
            "jwt sub=alice iss=https://a.example");
  EXPECT_EQ(bearer(maker.token(claims_of("\\u00e9 x"))), "jwt sub=%C3%A9%20x");
}

TEST_F(Resolver, RefreshedTokenKeepsItsScope) {
  const TokenMaker first(Kind::ec, "k1");
  const TokenMaker second(Kind::rsa, "k2");
  from_token(test::jwks({&first, &second}));
  const std::string before = bearer(first.token(claims_of("alice", ",\"jti\":\"1\"")));
  EXPECT_EQ(before, "jwt sub=alice");
  EXPECT_EQ(bearer(second.token(claims_of("alice", ",\"jti\":\"2\",\"iat\":5"))), before);
}

TEST_F(Resolver, TokenIsRefusedWithoutBeingRepeated) {
  const TokenMaker maker(Kind::secret, "k1");
  const TokenMaker other(Kind::secret, "k1");
  from_token(test::jwks({&maker}));
  const std::string good = maker.token(claims_of("alice"));
  EXPECT_EQ(refusal({}), Reason::missing);
  EXPECT_EQ(refusal({{"Authorization", "Bearer " + good}, {"authorization", "Bearer " + good}}),
            Reason::several_lines);
  EXPECT_EQ(refusal({{"Authorization", good}}), Reason::unknown_scheme);
  EXPECT_EQ(refusal({{"Authorization", "Basic " + good}}), Reason::unknown_scheme);
  EXPECT_EQ(refusal({{"Authorization", "Bearer"}}), Reason::unknown_scheme);
  const std::string forged = other.token(claims_of("alice"));
  EXPECT_EQ(bearer(forged),
            "refused: The token in the header Authorization has a signature that cannot be "
            "verified.");
  EXPECT_EQ(bearer(good), "jwt sub=alice");
}

TEST_F(Resolver, RememberedTokenStillExpires) {
  const TokenMaker maker(Kind::ec, "k1");
  from_token(test::jwks({&maker}));
  const std::string token = maker.token(claims_of("alice"));
  EXPECT_EQ(bearer(token), "jwt sub=alice");
  EXPECT_EQ(bearer(token), "jwt sub=alice");
  now += 3'600'000 + config.token.leeway_ms + 1'000;
  EXPECT_EQ(bearer(token), "refused: The token in the header Authorization has expired.");
}

TEST_F(Resolver, RememberedTokenDoesNotOutliveItsKey) {
  const TokenMaker leaked(Kind::ec, "k1");
  const TokenMaker fresh(Kind::ec, "k2");
  from_token(test::jwks({&leaked}));
  const std::string token = leaked.token(claims_of("alice"));
  EXPECT_EQ(bearer(token), "jwt sub=alice");
  const std::string path = folder.write("new", test::jwks({&fresh}));
  ASSERT_EQ(std::rename(path.c_str(), config.keys.c_str()), 0);
  now += until_seen_ms;
  EXPECT_TRUE(bearer(token).starts_with("refused")) << bearer(token);
  EXPECT_EQ(bearer(fresh.token(claims_of("alice"))), "jwt sub=alice");
  // A file that cannot be used changes nothing.
  folder.write("keys", "{");
  now += until_seen_ms;
  EXPECT_EQ(bearer(fresh.token(claims_of("bob"))), "jwt sub=bob");
}

TEST_F(Resolver, TokensMayComeInAnotherHeader) {
  const TokenMaker maker(Kind::secret);
  from_token(maker.secret());
  config.token.algorithms = {identity::Algorithm::hs256};
  config.token_header = "X-Access-Token";
  const std::string token = maker.token(claims_of("alice"));
  EXPECT_EQ(scope({{"X-Access-Token", token}}), "jwt sub=alice");
  EXPECT_EQ(scope({{"x-access-token", "bearer " + token}}), "jwt sub=alice");
}

TEST_F(Resolver, ConfiguredApiKeyNamesItsTenant) {
  config.from = TenantFrom::api_key;
  config.api_keys_file = folder.write(
      "api_keys", "acme sk_live_first_0001\nacme sk_live_second_002\nbolt sk_live_bolt_00001\n");
  EXPECT_EQ(scope({{"Authorization", "Bearer sk_live_first_0001"}}), "api_key name=acme");
  EXPECT_EQ(scope({{"Authorization", "sk_live_second_002"}}), "api_key name=acme");
  EXPECT_EQ(scope({{"Authorization", "Bearer sk_live_bolt_00001"}}), "api_key name=bolt");
  EXPECT_EQ(refusal({{"Authorization", "Bearer sk_live_first_0002"}}), Reason::refused);
  EXPECT_EQ(refusal({{"Authorization", "Basic sk_live_first_0001"}}), Reason::refused);
  EXPECT_EQ(refusal({}), Reason::missing);
  const std::string path = folder.write("new", "acme sk_live_third_0003\n");
  ASSERT_EQ(std::rename(path.c_str(), config.api_keys_file.c_str()), 0);
  now += until_seen_ms;
  EXPECT_EQ(scope({{"Authorization", "Bearer sk_live_third_0003"}}), "api_key name=acme");
  EXPECT_EQ(refusal({{"Authorization", "Bearer sk_live_first_0001"}}), Reason::refused);
}

TEST_F(Resolver, HeaderIsOnlyTakenFromTrustedAddresses) {
  config.from = TenantFrom::header;
  EXPECT_EQ(scope({{"X-Tenant", "acme"}}), "acme");
  peer = "::1";
  EXPECT_EQ(scope({{"X-Tenant", "acme"}}), "acme");
  peer = "10.0.0.7";
  EXPECT_EQ(refusal({{"X-Tenant", "acme"}}), Reason::untrusted);
  EXPECT_EQ(refusal({}), Reason::missing);
  config.trusted = *http::AddressRanges::of({"10.0.0.0/8"});
  EXPECT_EQ(scope({{"X-Tenant", "acme"}}), "acme");
  peer = "127.0.0.1";
  EXPECT_EQ(refusal({{"X-Tenant", "acme"}}), Reason::untrusted);
}

TEST_F(Resolver, CertificateNamesTheTenant) {
  config.from = TenantFrom::mtls;
  EXPECT_EQ(refusal({}), Reason::missing);
  http::PeerCertificate shown;
  shown.subject = "CN=acme,O=Acme Inc.";
  shown.common_name = "acme";
  shown.dns_names = {"api.acme.example"};
  shown.uris = {"spiffe://acme/api"};
  shown.sha256 = "00ff";
  certificate = &shown;
  const auto by = [&](CertificatePart part) {
    config.certificate = part;
    return scope({});
  };
  EXPECT_EQ(by(CertificatePart::common_name), "mtls common_name=acme");
  EXPECT_EQ(by(CertificatePart::subject), "mtls subject=CN=acme,O=Acme%20Inc.");
  EXPECT_EQ(by(CertificatePart::dns), "mtls dns=api.acme.example");
  EXPECT_EQ(by(CertificatePart::uri), "mtls uri=spiffe://acme/api");
  EXPECT_EQ(by(CertificatePart::sha256), "mtls sha256=00ff");
  shown.dns_names.push_back("bolt.example");
  EXPECT_EQ(by(CertificatePart::dns),
            "refused: The client certificate does not have exactly one dns that names a tenant.");
  shown.common_name.clear();
  EXPECT_TRUE(by(CertificatePart::common_name).starts_with("refused"));
}

TEST_F(Resolver, RouteAndPrincipalNarrowTheScopeButNotTheTenant) {
  const TokenMaker maker(Kind::ec);
  from_token(maker.pem());
  config.token.principal_claim = "/act/sub";
  route.match = "POST /payments/*";
  route.scope_route = true;
  const std::string bob = maker.token(claims_of("acme", ",\"act\":{\"sub\":\"bob\"}"));
  EXPECT_EQ(bearer(bob), "jwt sub=acme +route=POST%20/payments/*");
  route.scope_principal = true;
  const auto caller = ask({{"Authorization", "Bearer " + bob}});
  EXPECT_EQ(caller->tenant, "jwt sub=acme");
  EXPECT_EQ(caller->scope, "jwt sub=acme +route=POST%20/payments/* +principal=bob");
  EXPECT_EQ(bearer(maker.token(claims_of("acme", ",\"act\":{\"sub\":7}"))),
            "jwt sub=acme +route=POST%20/payments/* +principal=%#7");
  EXPECT_EQ(bearer(maker.token(claims_of("acme"))),
            "refused: The token does not say which principal uses it.");
}

TEST_F(Resolver, PrincipalHeaderIsAsTrustedAsTheTenants) {
  config.principal_header = "X-User";
  route.scope_principal = true;
  EXPECT_EQ(scope({{"X-User", "bob"}}), "default +principal=bob");
  EXPECT_EQ(refusal({}), Reason::missing);
  EXPECT_EQ(refusal({{"X-User", "bob"}, {"X-User", "eve"}}), Reason::several_lines);
  peer = "192.0.2.1";
  EXPECT_EQ(refusal({{"X-User", "bob"}}), Reason::untrusted);
}

TEST_F(Resolver, UnusableFilesAreErrorsAtTheStart) {
  config.from = TenantFrom::jwt;
  config.keys = folder.path() / "nothing";
  EXPECT_THROW(open_tenant_files(config, nullptr), std::runtime_error);
  config.keys = folder.write("keys", "{}");
  try {
    open_tenant_files(config, nullptr);
    ADD_FAILURE();
  } catch (const std::runtime_error& problem) {
    EXPECT_EQ(problem.what(), "tenant.keys: " + config.keys + ": a key has no kty");
  }
}

}  // namespace
}  // namespace oncekey::gateway
