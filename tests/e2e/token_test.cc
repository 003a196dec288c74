// Tenants that tokens name (SPEC T1, T2): refreshed, rotated, narrowed by route and principal.
#include <cstdio>

#include "e2e/token_fixture.h"

namespace oncekey::test {
namespace {

class Tokens : public TokenFixture {
 protected:
  void replace_keys(const std::string& content) {
    const std::string path = folder_.write("keys.new", content);
    ASSERT_EQ(std::rename(path.c_str(), keys_path_.c_str()), 0);
  }
};

TEST_F(Tokens, RefreshedTokenKeepsItsKeys) {
  serve_tokens();
  const HttpResponse first = post_as(ec_.token(claims(",\"jti\":\"1\"")), key_a);
  EXPECT_EQ(first.status, 201);
  for (const TokenMaker* maker : {&ec_, &second_ec_, &rsa_, &secret_}) {
    const std::string refreshed =
        maker->token(claims(",\"iat\":7,\"jti\":\"2\",\"scope\":\"pay\""));
    const HttpResponse again = post_as(refreshed, key_a);
    EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
    EXPECT_EQ(again.body, first.body);
  }
  EXPECT_EQ(arrivals(key_a), 1u);
  const HttpResponse other = post_as(ec_.token(claims("", "bob")), key_a);
  EXPECT_EQ(other.status, 201);
  EXPECT_NE(other.body, first.body);
}

TEST_F(Tokens, UpstreamStillGetsTheToken) {
  serve_tokens();
  const std::string token = ec_.token(claims());
  EXPECT_EQ(post_as(token, key_a).status, 201);
  EXPECT_EQ(upstream_.audit().of_key(key_a).at(0).request.header("Authorization"),
            "Bearer " + token);
}

TEST_F(Tokens, ReplacedKeysAreInForceWithoutARestart) {
  serve_tokens();
  const std::string old_token = ec_.token(claims());
  EXPECT_EQ(post_as(old_token, key_a).status, 201);
  const TokenMaker fresh(TokenMaker::Kind::ec, "e9");
  EXPECT_EQ(post_as(fresh.token(claims()), key_a).status, 401);
  replace_keys(jwks({&fresh}));
  EXPECT_TRUE(eventually([&] { return post_as(old_token, key_a).status == 401; }));
  HttpResponse replayed;  // another loop may look at the file a moment later
  EXPECT_TRUE(eventually([&] {
    replayed = post_as(fresh.token(claims()), key_a);
    return replayed.status == 201;
  }));
  EXPECT_EQ(replayed.header("Idempotency-Replayed"), "true");
  EXPECT_NE(gateway_->log_line("/event", "keys_reloaded"), "");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Tokens, UnusableKeysChangeNothingAndAreReported) {
  serve_tokens();
  EXPECT_EQ(post_as(ec_.token(claims()), key_a).status, 201);
  replace_keys("{\"keys\":[");
  EXPECT_TRUE(eventually([&] {
    EXPECT_EQ(post_as(ec_.token(claims()), key_a).status, 201);
    return gateway_->process().output().find("keys_not_reloaded") != std::string::npos;
  }));
  EXPECT_EQ(post_as(ec_.token(claims("", "bob")), key_b).status, 201);
  EXPECT_EQ(gateway_->process().output().find(base64url(secret_.secret())), std::string::npos);
}

TEST_F(Tokens, GatewayDoesNotStartWithoutItsKeys) {
  const std::string bad = folder_.write("bad.json", "{\"keys\":[]}");
  try {
    serve("[tenant]\nfrom = \"jwt\"\naudience = \"a\"\nkeys = \"" + bad + "\"\n");
    ADD_FAILURE() << "it started";
  } catch (const std::exception& problem) {
    EXPECT_NE(std::string(problem.what()).find("has no key that verifies"), std::string::npos)
        << problem.what();
  }
}

TEST_F(Tokens, KeyOfAnotherRouteOrPrincipalIsAnother) {
  serve_tokens("principal_claim = \"/act/sub\"\n",
               "[[route]]\nmatch = \"POST /orders\"\nscope = [\"tenant\", \"route\"]\n"
               "[[route]]\nmatch = \"POST /refunds\"\nscope = [\"tenant\", \"route\"]\n"
               "[[route]]\nmatch = \"POST /mine/*\"\nscope = [\"tenant\", \"principal\"]\n"
               "[[route]]\nmatch = \"POST,PATCH *\"\n");
  const std::string bob = ec_.token(claims(",\"act\":{\"sub\":\"bob\"}"));
  const std::string eve = ec_.token(claims(",\"act\":{\"sub\":\"eve\"}"));
  const HttpResponse order = post_as(bob, key_a, "/orders");
  const HttpResponse refund = post_as(bob, key_a, "/refunds");
  EXPECT_EQ(order.status, 201);
  EXPECT_EQ(refund.status, 201);
  EXPECT_NE(order.body, refund.body);
  EXPECT_EQ(post_as(eve, key_a, "/orders").body, order.body);  // the principal does not count here
  const HttpResponse of_bob = post_as(bob, key_a, "/mine/1");
  const HttpResponse of_eve = post_as(eve, key_a, "/mine/1");
  EXPECT_NE(of_bob.body, of_eve.body);
  EXPECT_EQ(post_as(bob, key_a, "/mine/1").body, of_bob.body);
  EXPECT_EQ(post_as(eve, key_a, "/mine/1").body, of_eve.body);
  EXPECT_EQ(arrivals(key_a), 4u);
  // Where the scope is the tenant, one key is one request, whatever the path.
  const HttpResponse elsewhere = post_as(bob, key_b, "/a");
  EXPECT_EQ(elsewhere.status, 201);
  EXPECT_EQ(code(post_as(bob, key_b, "/b")), "idempotency_key_reused");
  const HttpResponse nobody = post_as(ec_.token(claims()), key_b, "/mine/1");
  EXPECT_EQ(nobody.status, 401);
}

}  // namespace
}  // namespace oncekey::test
