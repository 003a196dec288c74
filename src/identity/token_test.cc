#include "identity/token.h"

#include <gtest/gtest.h>

#include "support/token_maker.h"

namespace oncekey::identity {
namespace {

using test::base64url;
using test::TokenMaker;
using Kind = TokenMaker::Kind;
using Reason = TokenError::Reason;

constexpr TimestampMs now = 1'800'000'000'000;

class Token : public testing::Test {
 protected:
  Token() : keys(*read_key_set(test::jwks({&secret, &rsa, &ec}), {})) {}

  // A claim set that is good until an hour from now.
  static std::string claims(std::string_view more = "") {
    return "{\"sub\":\"alice\",\"exp\":1800003600" + std::string(more) + "}";
  }
  std::optional<Reason> refusal(std::string_view token) const {
    const auto verified = verify_token(token, keys, rules, now);
    if (verified) return std::nullopt;
    EXPECT_EQ(verified.error().detail.find("alice"), std::string::npos);
    return verified.error().reason;
  }
  VerifiedToken accepted(std::string_view token) const {
    const auto verified = verify_token(token, keys, rules, now);
    EXPECT_TRUE(verified.ok()) << (verified.ok() ? "" : verified.error().detail);
    return verified.ok() ? *verified : VerifiedToken{};
  }

  const TokenMaker secret{Kind::secret, "s"};
  const TokenMaker rsa{Kind::rsa, "r"};
  const TokenMaker ec{Kind::ec, "e"};
  KeySet keys;
  TokenRules rules;
};

TEST_F(Token, EachAlgorithmIsVerified) {
  for (const TokenMaker* maker : {&secret, &rsa, &ec}) {
    const VerifiedToken token = accepted(maker->token(claims()));
    EXPECT_EQ(token.subject, (ClaimValue{"alice", false}));
    EXPECT_EQ(token.expires_at, 1'800'003'600'000);
    EXPECT_EQ(token.issuer, std::nullopt);
  }
}

TEST_F(Token, AnyChangedByteIsNoticed) {
  for (const TokenMaker* maker : {&secret, &rsa, &ec}) {
    const std::string good = maker->token(claims());
    for (std::size_t i = 0; i < good.size(); ++i) {
      std::string bad = good;
      bad[i] = bad[i] == 'A' ? 'B' : 'A';
      EXPECT_TRUE(refusal(bad)) << maker->algorithm() << " at " << i;
    }
    EXPECT_TRUE(refusal(good.substr(0, good.size() - 1)));
    EXPECT_TRUE(refusal(good + "A"));
  }
}

TEST_F(Token, AlgorithmsAreNotTheTokensToChoose) {
  for (const std::string_view name : {"none", "None", "NONE", "nOnE", "", "hs256", "HS384", "HS512",
                                      "RS384", "PS256", "ES384", "ES256K", "EdDSA", "HS256 "}) {
    const std::string header = "{\"alg\":\"" + std::string(name) + "\",\"kid\":\"s\"}";
    EXPECT_EQ(refusal(secret.token(header, claims())), Reason::algorithm) << name;
    EXPECT_EQ(refusal(base64url(header) + "." + base64url(claims()) + "."), Reason::algorithm);
  }
  for (const std::string_view alg : {"1", "null", "true", "[\"HS256\"]", "{}"}) {
    EXPECT_EQ(refusal(secret.token("{\"alg\":" + std::string(alg) + "}", claims())),
              Reason::algorithm);
  }
  EXPECT_EQ(refusal(secret.token("{\"kid\":\"s\"}", claims())), Reason::algorithm);
  // Each key under another's algorithm.
  for (const std::string_view kid : {"r", "e"}) {
    const std::string header = "{\"alg\":\"HS256\",\"kid\":\"" + std::string(kid) + "\"}";
    for (const std::string& as_secret : {rsa.pem(), rsa.jwk(), ec.pem()}) {
      EXPECT_EQ(refusal(TokenMaker::of_secret(as_secret).token(header, claims())), Reason::key);
    }
  }
  EXPECT_EQ(refusal(ec.token("{\"alg\":\"RS256\",\"kid\":\"e\"}", claims())), Reason::key);
  rules.algorithms = {Algorithm::es256};
  EXPECT_EQ(refusal(rsa.token(claims())), Reason::algorithm);
  EXPECT_FALSE(refusal(ec.token(claims())));
}

TEST_F(Token, SignatureHasExactlyItsForm) {
  const std::string text = base64url(ec.header()) + "." + base64url(claims());
  EXPECT_EQ(refusal(text + "." + base64url(ec.der_signature(text))), Reason::signature);
  EXPECT_EQ(refusal(text + "." + base64url(std::string(64, '\0'))), Reason::signature);
  EXPECT_EQ(refusal(text + "."), Reason::signature);
  EXPECT_EQ(refusal(text + "." + base64url(ec.signature(text) + '\0')), Reason::signature);
  const std::string rsa_text = base64url(rsa.header()) + "." + base64url(claims());
  EXPECT_EQ(refusal(rsa_text + "." + base64url('\0' + rsa.signature(rsa_text))), Reason::signature);
  const std::string secret_text = base64url(secret.header()) + "." + base64url(claims());
  EXPECT_EQ(refusal(secret_text + "." + base64url(secret.signature(secret_text).substr(0, 16))),
            Reason::signature);
}

TEST_F(Token, FormIsStrict) {
  const std::string good = ec.token(claims());
  const std::size_t dot = good.find('.');
  for (const std::string& bad :
       {std::string(), std::string("."), std::string(".."), std::string("a.b"), good + ".",
        "." + good, good + " ", " " + good, good.substr(0, dot) + "=" + good.substr(dot),
        good.substr(0, dot) + "\n" + good.substr(dot), good.substr(dot), good + "." + good,
        good.substr(0, dot) + "." + good}) {
    EXPECT_EQ(refusal(bad), Reason::malformed) << bad;
  }
  for (const std::string_view header :
       {"[]", "1", "\"x\"", "{\"alg\":\"ES256\",\"alg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"\\u0061lg\":\"none\"}", "{\"alg\":\"ES256\"} x", "{'alg':'ES256'}",
        "{\"alg\":\"ES256\",}", "\xef\xbb\xbf{\"alg\":\"ES256\"}",
        "{\"alg\":\"ES256\",\"a\":\"\xff\"}", "{\"alg\":\"ES256\",\"kid\":7}",
        "{\"alg\":\"ES256\",\"kid\":\"\"}", "{\"alg\":\"ES256\",\"kid\":null}"}) {
    EXPECT_EQ(refusal(ec.token(header, claims())), Reason::malformed) << header;
  }
  for (const std::string_view payload :
       {"[]", "{\"sub\":\"alice\",\"sub\":\"bob\",\"exp\":1800003600}", "{\"sub\":\"alice\"",
        "{\"sub\":\"\\ud800\",\"exp\":1800003600}",
        "{\"sub\":\"a\",\"exp\":1800003600,\"deep\":{\"x\":1,\"x\":2}}"}) {
    EXPECT_EQ(refusal(ec.token(payload)), Reason::malformed) << payload;
  }
  rules.length_max = good.size() - 1;
  EXPECT_EQ(refusal(good), Reason::too_long);
}

TEST_F(Token, WhatIsNotUnderstoodIsNotIgnored) {
  for (const std::string_view more : {"\"crit\":[\"exp\"]", "\"crit\":[]", "\"b64\":false"}) {
    EXPECT_EQ(
        refusal(ec.token("{\"alg\":\"ES256\",\"kid\":\"e\"," + std::string(more) + "}", claims())),
        Reason::extension);
  }
  const auto typed = [&](std::string_view type) {
    return ec.token("{\"alg\":\"ES256\",\"kid\":\"e\",\"typ\":" + std::string(type) + "}",
                    claims());
  };
  EXPECT_EQ(refusal(typed("\"logout+jwt\"")), Reason::type);
  EXPECT_EQ(refusal(typed("\"dpop+jwt\"")), Reason::type);
  EXPECT_EQ(refusal(typed("1")), Reason::type);
  EXPECT_FALSE(refusal(typed("\"at+JWT\"")));
}

TEST_F(Token, KeysAreFoundByTheirExactName) {
  for (const std::string_view kid : {"x", "E", "../e", "e/../e", "/dev/null", "e\\u0000", "e ",
                                     "' OR 1=1 --", "http://evil.example/jwks"}) {
    const std::string header = "{\"alg\":\"ES256\",\"kid\":\"" + std::string(kid) + "\"}";
    EXPECT_EQ(refusal(ec.token(header, claims())), Reason::key) << kid;
  }
  const std::string long_kid(300, 'e');
  EXPECT_EQ(refusal(ec.token("{\"alg\":\"ES256\",\"kid\":\"" + long_kid + "\"}", claims())),
            Reason::malformed);
  // Keys that the token brings along are nobody's.
  const TokenMaker evil(Kind::ec, "e");
  EXPECT_EQ(
      refusal(evil.token("{\"alg\":\"ES256\",\"kid\":\"e\",\"jwk\":" + evil.jwk() + "}", claims())),
      Reason::signature);
}

TEST_F(Token, TimesAreCheckedWithLeeway) {
  const auto with = [&](std::string_view times) {
    return refusal(ec.token("{\"sub\":\"alice\"" + std::string(times) + "}"));
  };
  EXPECT_EQ(with(""), Reason::no_expiry);
  EXPECT_FALSE(with(",\"exp\":1799999941"));
  EXPECT_EQ(with(",\"exp\":1799999940"), Reason::expired);
  EXPECT_EQ(with(",\"exp\":0"), Reason::expired);
  EXPECT_EQ(with(",\"exp\":-1"), Reason::expired);
  EXPECT_FALSE(with(",\"exp\":1800000000.5"));
  EXPECT_FALSE(with(",\"exp\":1800003600,\"nbf\":1800000060"));
  EXPECT_EQ(with(",\"exp\":1800003600,\"nbf\":1800000061"), Reason::not_yet);
  for (const std::string_view exp : {"\"1800003600\"", "null", "true", "1e300", "[1800003600]"}) {
    EXPECT_EQ(with(",\"exp\":" + std::string(exp)), Reason::malformed) << exp;
  }
  EXPECT_EQ(with(",\"exp\":1800003600,\"nbf\":\"0\""), Reason::malformed);
  rules.require_exp = false;
  EXPECT_FALSE(with(""));
  EXPECT_EQ(with(",\"exp\":1"), Reason::expired);
  const VerifiedToken forever = accepted(ec.token("{\"sub\":\"alice\"}"));
  EXPECT_FALSE(check_times(forever, rules, std::numeric_limits<TimestampMs>::max() / 2));
}

TEST_F(Token, IssuerAndAudienceMustBeOurs) {
  rules.issuers = {"https://a.example", "https://b.example"};
  rules.audiences = {"payments"};
  const auto with = [&](std::string_view more) { return refusal(ec.token(claims(more))); };
  EXPECT_EQ(with(""), Reason::issuer);
  EXPECT_EQ(with(",\"iss\":\"https://a.example/\",\"aud\":\"payments\""), Reason::issuer);
  EXPECT_EQ(with(",\"iss\":\"https://A.example\",\"aud\":\"payments\""), Reason::issuer);
  EXPECT_EQ(with(",\"iss\":[\"https://a.example\"],\"aud\":\"payments\""), Reason::malformed);
  EXPECT_EQ(with(",\"iss\":\"https://a.example\""), Reason::audience);
  EXPECT_EQ(with(",\"iss\":\"https://a.example\",\"aud\":\"orders\""), Reason::audience);
  EXPECT_EQ(with(",\"iss\":\"https://a.example\",\"aud\":[]"), Reason::audience);
  EXPECT_EQ(with(",\"iss\":\"https://a.example\",\"aud\":[\"payments\",1]"), Reason::audience);
  EXPECT_FALSE(with(",\"iss\":\"https://b.example\",\"aud\":\"payments\""));
  EXPECT_FALSE(with(",\"iss\":\"https://b.example\",\"aud\":[\"orders\",\"payments\"]"));
}

TEST_F(Token, ClaimNamesTheTenantByNameOrPointer) {
  const auto subject = [&](std::string_view claim, std::string_view more) {
    rules.claim = claim;
    return accepted(ec.token(claims(more))).subject;
  };
  EXPECT_EQ(subject("org", ",\"org\":\"acme\""), (ClaimValue{"acme", false}));
  EXPECT_EQ(subject("/org/id", ",\"org\":{\"id\":42}"), (ClaimValue{"42", true}));
  EXPECT_EQ(subject("/org/id", ",\"org\":{\"id\":\"42\"}"), (ClaimValue{"42", false}));
  EXPECT_EQ(subject("https://x.example/tenant", ",\"https://x.example/tenant\":\"t\"").text, "t");
  EXPECT_EQ(subject("u", ",\"u\":18446744073709551615").text, "18446744073709551615");
  rules.claim = "org";
  for (const std::string_view value : {"\"\"", "null", "true", "1.5", "1e3", "[]", "{}"}) {
    EXPECT_EQ(refusal(ec.token(claims(",\"org\":" + std::string(value)))), Reason::claim) << value;
  }
  EXPECT_EQ(refusal(ec.token(claims())), Reason::claim);
  rules.claim = "sub";
  rules.principal_claim = "user";
  EXPECT_EQ(accepted(ec.token(claims(",\"user\":\"u1\""))).principal, (ClaimValue{"u1", false}));
  EXPECT_EQ(accepted(ec.token(claims())).principal, std::nullopt);
}

}  // namespace
}  // namespace oncekey::identity
