#include "identity/key_set.h"

#include <gtest/gtest.h>

#include "support/token_maker.h"

namespace oncekey::identity {
namespace {

using test::TokenMaker;
using Kind = TokenMaker::Kind;

const std::vector<Algorithm> any;
const std::vector<Algorithm> secret_only{Algorithm::hs256};

std::string problem(std::string_view file, const std::vector<Algorithm>& algorithms = any) {
  const auto set = read_key_set(file, algorithms);
  return set ? "" : set.error();
}

bool verifies(const KeySet& set, const TokenMaker& maker) {
  const std::optional<std::string> kid =
      maker.kid().empty() ? std::nullopt : std::optional(maker.kid());
  const auto candidates = set.candidates(*algorithm_named(maker.algorithm()), kid);
  return candidates.size() == 1 && candidates[0]->verifies("text", maker.signature("text")) &&
         !candidates[0]->verifies("test", maker.signature("text"));
}

TEST(KeySet, ReadsEachKindOfJwk) {
  const TokenMaker secret(Kind::secret, "s");
  const TokenMaker rsa(Kind::rsa, "r");
  const TokenMaker ec(Kind::ec, "e");
  const auto set = read_key_set(test::jwks({&secret, &rsa, &ec}), any);
  ASSERT_TRUE(set) << set.error();
  EXPECT_EQ(set->keys().size(), 3u);
  EXPECT_TRUE(verifies(*set, secret));
  EXPECT_TRUE(verifies(*set, rsa));
  EXPECT_TRUE(verifies(*set, ec));
  EXPECT_FALSE(verifies(*set, TokenMaker(Kind::ec, "e")));
  const auto alone = read_key_set(ec.jwk(), any);
  ASSERT_TRUE(alone) << alone.error();
  EXPECT_TRUE(verifies(*alone, ec));
}

TEST(KeySet, ReadsPublicKeysInPem) {
  const TokenMaker rsa(Kind::rsa);
  const TokenMaker ec(Kind::ec);
  const auto set = read_key_set("# ours\n" + rsa.pem() + ec.pem(), any);
  ASSERT_TRUE(set) << set.error();
  EXPECT_TRUE(verifies(*set, rsa));
  EXPECT_TRUE(verifies(*set, ec));
  const std::vector<Algorithm> es256{Algorithm::es256};
  EXPECT_EQ(read_key_set(rsa.pem() + ec.pem(), es256)->keys().size(), 1u);
  EXPECT_NE(problem(rsa.pem(), es256), "");
}

// The classic: a public key taken for the secret of an HMAC.
TEST(KeySet, PemIsNeverASecret) {
  const TokenMaker rsa(Kind::rsa);
  EXPECT_NE(problem(rsa.pem(), secret_only), "");
  const auto set = read_key_set(rsa.pem(), any);
  EXPECT_TRUE(set->candidates(Algorithm::hs256, {}).empty());
}

TEST(KeySet, BareSecretNeedsItsAlgorithmSaid) {
  const TokenMaker secret(Kind::secret);
  EXPECT_NE(problem(secret.secret()).find("algorithms = [\"HS256\"]"), std::string::npos);
  const auto set = read_key_set(secret.secret() + "\n", secret_only);
  ASSERT_TRUE(set) << set.error();
  EXPECT_TRUE(verifies(*set, secret));
  EXPECT_NE(problem("too-short", secret_only).find("at least 32 bytes"), std::string::npos);
}

TEST(KeySet, WeakMalformedAndPrivateKeysAreRefused) {
  const TokenMaker ec(Kind::ec, "e");
  const TokenMaker rsa(Kind::rsa, "r");
  const auto has = [](const std::string& text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  EXPECT_TRUE(has(problem(TokenMaker(Kind::rsa, "r", 1024).jwk()), "2048 to 8192 bits, not 1024"));
  EXPECT_TRUE(has(problem(ec.private_pem()), "private key"));
  EXPECT_TRUE(has(problem(rsa.private_pem()), "private key"));
  EXPECT_TRUE(has(problem("{\"kty\":\"oct\",\"k\":\"c2hvcnQ\"}"), "at least 32 bytes"));
  std::string with_private = ec.jwk();
  with_private.insert(1, "\"d\":\"AA\",");
  EXPECT_TRUE(has(problem(with_private), "private key"));
  std::string doubled = ec.jwk();
  doubled.insert(1, "\"kty\":\"RSA\",");
  EXPECT_TRUE(has(problem(doubled), "a name twice"));
  const std::string zero(43, 'A');
  EXPECT_TRUE(has(
      problem("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"" + zero + "\",\"y\":\"" + zero + "\"}"),
      "not a point"));
  EXPECT_TRUE(has(problem("{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\",\"y\":\"AA\"}"), "32"));
  EXPECT_TRUE(has(problem("{\"kty\":\"RSA\",\"n\":\"AQ==\",\"e\":\"AQAB\"}"), "base64url"));
  EXPECT_TRUE(has(problem("{\"keys\":[1]}"), "key 1: is not an object"));
  EXPECT_TRUE(has(problem("{\"keys\":[" + ec.jwk() + ",{\"kty\":\"RSA\"}]}"), "key 2: "));
  EXPECT_TRUE(has(problem("{\"keys\":{}}"), "not a list"));
  EXPECT_TRUE(has(problem("{\"keys\":[]}"), "no key"));
  EXPECT_TRUE(has(problem("{"), "not JSON"));
  EXPECT_TRUE(has(problem(" \n"), "empty"));
  EXPECT_TRUE(
      has(problem("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"), "cannot read"));
  EXPECT_TRUE(has(problem("-----BEGIN nothing"), "no PEM block"));
  EXPECT_TRUE(has(problem("{\"keys\":[" + ec.jwk() + "," + TokenMaker(Kind::ec, "e").jwk() + "]}"),
                  "the kid \"e\" twice"));
}

TEST(KeySet, KeysForOtherPurposesAreLeftOut) {
  const TokenMaker ec(Kind::ec, "e");
  std::string keys = "{\"keys\":[" + ec.jwk();
  for (const std::string_view other :
       {"\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AA\"", "\"kty\":\"EC\",\"crv\":\"P-384\"",
        "\"kty\":\"RSA\",\"alg\":\"RSA-OAEP\"", "\"kty\":\"RSA\",\"use\":\"enc\"",
        "\"kty\":\"RSA\",\"alg\":\"HS256\"", "\"kty\":\"oct\",\"key_ops\":[\"encrypt\"]"}) {
    keys += ",{" + std::string(other) + "}";
  }
  const auto set = read_key_set(keys + "]}", any);
  ASSERT_TRUE(set) << set.error();
  EXPECT_EQ(set->keys().size(), 1u);
}

TEST(KeySet, NamesDecideWhichKeyIsTried) {
  const TokenMaker first(Kind::ec, "first");
  const TokenMaker second(Kind::ec, "second");
  const auto two = read_key_set(test::jwks({&first, &second}), any);
  EXPECT_EQ(two->candidates(Algorithm::es256, "first").size(), 1u);
  EXPECT_TRUE(two->candidates(Algorithm::es256, "First").empty());
  EXPECT_TRUE(two->candidates(Algorithm::es256, "../first").empty());
  EXPECT_TRUE(two->candidates(Algorithm::es256, std::nullopt).empty());
  EXPECT_TRUE(two->candidates(Algorithm::rs256, "first").empty());
  const auto one = read_key_set(first.jwk(), any);
  EXPECT_EQ(one->candidates(Algorithm::es256, std::nullopt).size(), 1u);
  EXPECT_TRUE(one->candidates(Algorithm::es256, "second").empty());
}

TEST(KeySet, FewKeysMayBeWithoutAName) {
  std::string pem;
  const TokenMaker ec(Kind::ec);
  for (std::size_t i = 0; i < nameless_keys_max; ++i) pem += ec.pem();
  EXPECT_EQ(problem(pem), "");
  EXPECT_NE(problem(pem + ec.pem()), "");
}

}  // namespace
}  // namespace oncekey::identity
