// Tokens as an attacker would send them (SPEC T2): each is refused before anything is stored or
// sent.
#include <map>

#include "e2e/token_fixture.h"

namespace oncekey::test {
namespace {

using Kind = TokenMaker::Kind;

// With the first `from` replaced.
std::string replaced(std::string text, std::string_view from, std::string_view to) {
  text.replace(text.find(from), from.size(), to);
  return text;
}

class TokenAbuse : public TokenFixture {
 protected:
  struct Case {
    std::string name;
    std::vector<std::string> lines;  // of Authorization
  };

  void add(std::string name, const std::string& token) {
    cases_.push_back({std::move(name), {"Bearer " + token}});
  }
  void add_lines(std::string name, std::vector<std::string> lines) {
    cases_.push_back({std::move(name), std::move(lines)});
  }

  // Signed properly, with another header or other claims.
  std::string with_header(std::string_view members) const {
    return ec_.token("{" + std::string(members) + "}", claims());
  }
  std::string with_claims(std::string_view claims) const { return ec_.token(claims); }

  void add_algorithms() {
    const std::string payload = base64url(claims());
    for (const std::string alg : {"none", "None", "NONE", "nOnE", "NoNe", "", "HS512", "PS256",
                                  "es256", "ES256 ", "RS1", "ES384", "EdDSA", "A256GCM"}) {
      const std::string header = "{\"alg\":\"" + alg + "\",\"kid\":\"e1\",\"typ\":\"JWT\"}";
      add("alg \"" + alg + "\", signed", ec_.token(header, claims()));
      add("alg \"" + alg + "\", unsigned", base64url(header) + "." + payload + ".");
    }
    for (const std::string alg : {"null", "0", "[\"ES256\"]", "{\"alg\":\"ES256\"}", "true"}) {
      add("alg is " + alg, with_header("\"kid\":\"e1\",\"alg\":" + alg));
    }
    add("no alg", with_header("\"kid\":\"e1\""));
    // A public key as the secret of an HMAC.
    const std::map<std::string, std::string> public_texts{{"RSA as PEM", rsa_.pem()},
                                                          {"RSA as JWK", rsa_.jwk()},
                                                          {"EC as PEM", ec_.pem()},
                                                          {"EC as JWK", ec_.jwk()},
                                                          {"nothing", ""}};
    for (const auto& [name, text] : public_texts) {
      for (const std::string kid : {"r1", "e1", "s1"}) {
        add("HMAC with " + name + " and kid " + kid,
            TokenMaker::of_secret(text).token("{\"alg\":\"HS256\",\"kid\":\"" + kid + "\"}",
                                              claims()));
      }
    }
    add("RS256 by a P-256 key", with_header("\"alg\":\"RS256\",\"kid\":\"e1\""));
    add("ES256 by an RSA key", rsa_.token("{\"alg\":\"ES256\",\"kid\":\"r1\"}", claims()));
    add("HS256 with a kid of ES256", secret_.token("{\"alg\":\"HS256\",\"kid\":\"e1\"}", claims()));
  }

  void add_times_and_names() {
    const std::string base = claims();
    const auto with = [&](std::string_view from, const std::string& to) {
      return with_claims(replaced(base, from, to));
    };
    const std::size_t at = base.find("\"exp\":");
    const std::string exp = base.substr(at, base.find(',', at) - at);
    add("expired", with(exp, "\"exp\":" + std::to_string(now_seconds() - 61)));
    add("expired long ago", with(exp, "\"exp\":1"));
    add("exp is negative", with(exp, "\"exp\":-1"));
    add("exp is a text", with(exp, "\"exp\":\"" + std::to_string(now_seconds() + 3'600) + "\""));
    add("exp is null", with(exp, "\"exp\":null"));
    add("exp is beyond all years", with(exp, "\"exp\":1e300"));
    add("exp is a list", with(exp, "\"exp\":[" + std::to_string(now_seconds() + 3'600) + "]"));
    add("no exp", with(exp + ",", ""));
    add("not valid yet", with(exp, exp + ",\"nbf\":" + std::to_string(now_seconds() + 120)));
    add("nbf is a text", with(exp, exp + ",\"nbf\":\"0\""));
    const std::string iss = "\"iss\":\"https://login.example\"";
    for (const std::string other :
         {"\"https://evil.example\"", "\"https://login.example/\"", "\"https://LOGIN.example\"",
          "null", "\"\"", "[\"https://login.example\"]"}) {
      add("issuer " + other, with(iss, "\"iss\":" + other));
    }
    add("no issuer", with("," + iss, ""));
    const std::string aud = "\"aud\":\"payments\"";
    for (const std::string other :
         {"\"orders\"", "\"Payments\"", "\"payments \"", "[]", "[\"orders\"]", "null",
          "{\"payments\":1}", "[[\"payments\"]]"}) {
      add("audience " + other, with(aud, "\"aud\":" + other));
    }
    add("no audience", with("," + aud, ""));
    const std::string sub = "\"sub\":\"alice\"";
    for (const std::string other : {"\"\"", "null", "true", "1.5", "[\"alice\"]", "{}"}) {
      add("subject " + other, with(sub, "\"sub\":" + other));
    }
    add("no subject", with(sub + ",", ""));
    add("two subjects", with(sub, sub + ",\"sub\":\"bob\""));
    add("two subjects, one escaped", with(sub, sub + ",\"s\\u0075b\":\"bob\""));
    add("two exps", with(exp, "\"exp\":1," + exp));
  }

  void add_keys() {
    const TokenMaker evil(Kind::ec, "e1");
    const TokenMaker evil_secret = TokenMaker::of_secret(std::string(32, '\0'));
    add("another's key under our kid", evil.token(claims()));
    for (const std::string kid :
         {"e3", "E1", "e1 ", "../e1", "../../../../dev/null", "/etc/oncekey/keys", "e1\\u0000",
          "file:///dev/null", "https://evil.example/jwks.json", "e1' OR '1'='1", "*", "e1,e2"}) {
      add("kid " + kid, with_header("\"alg\":\"ES256\",\"kid\":\"" + kid + "\""));
      add("empty secret, kid " + kid,
          evil_secret.token("{\"alg\":\"HS256\",\"kid\":\"" + kid + "\"}", claims()));
    }
    const std::vector<std::string> odd_kids{"1", "null", "\"\"", "[\"e1\"]",
                                            "\"" + std::string(300, 'e') + "\""};
    for (const std::string& kid : odd_kids) {
      add("kid is " + kid.substr(0, 20), with_header("\"alg\":\"ES256\",\"kid\":" + kid));
    }
    add("two kids", with_header("\"alg\":\"ES256\",\"kid\":\"e1\",\"kid\":\"e2\""));
    add("no kid, and two keys that fit", with_header("\"alg\":\"ES256\""));
    add("brings its own jwk",
        evil.token("{\"alg\":\"ES256\",\"kid\":\"e1\",\"jwk\":" + evil.jwk() + "}", claims()));
    add("brings its own jwk, no kid",
        evil.token("{\"alg\":\"ES256\",\"jwk\":" + evil.jwk() + "}", claims()));
    for (const std::string name : {"jku", "x5u"}) {
      add("names its own " + name,
          evil.token("{\"alg\":\"ES256\",\"kid\":\"e1\",\"" + name +
                         "\":\"http://127.0.0.1:" + std::to_string(upstream_.port()) + "/jwks\"}",
                     claims()));
    }
    add("crit", with_header("\"alg\":\"ES256\",\"kid\":\"e1\",\"crit\":[\"exp\"],\"exp\":1"));
    add("b64", with_header("\"alg\":\"ES256\",\"kid\":\"e1\",\"b64\":false"));
    add("two algs", with_header("\"alg\":\"ES256\",\"alg\":\"none\",\"kid\":\"e1\""));
    add("two algs, one escaped",
        with_header("\"alg\":\"ES256\",\"\\u0061lg\":\"none\",\"kid\":\"e1\""));
    add("a token for logging out",
        with_header("\"alg\":\"ES256\",\"kid\":\"e1\",\"typ\":\"logout+jwt\""));
    add("a proof of possession",
        with_header("\"alg\":\"ES256\",\"kid\":\"e1\",\"typ\":\"dpop+jwt\""));
  }

  void add_forms() {
    const std::string good = ec_.token(claims());
    const std::size_t dot = good.find('.');
    const std::size_t last = good.rfind('.');
    const std::string signed_text = good.substr(0, last);
    add("padded header", good.substr(0, dot) + "=" + good.substr(dot));
    add("padded signature", good + "==");
    add("a blank inside", good.substr(0, dot) + " " + good.substr(dot));
    add("a tab inside", good.substr(0, dot) + "\t" + good.substr(dot));
    add("base64 in place of base64url", signed_text + "." + "+/" + good.substr(last + 3));
    // The last digit of 64 bytes has four bits that are not used.
    std::string bits = good;
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    bits.back() = digits[digits.find(bits.back()) | 1];
    add("bits set behind the signature", bits);
    add("percent-encoded", replaced(good, ".", "%2E"));
    add("two parts", signed_text);
    add("four parts", good + ".x");
    add("five parts, as if encrypted", good + ".x.y");
    add("no signature", signed_text + ".");
    add("no payload", good.substr(0, dot) + ".." + good.substr(last + 1));
    add("no header", good.substr(dot));
    add("dots", "..");
    add("not a token", "sk_live_0123456789");
    add("another token's signature",
        signed_text + ec_.token(claims_of("bob")).substr(ec_.token(claims_of("bob")).rfind('.')));
    add("another subject, same signature", good.substr(0, dot + 1) +
                                               base64url(replaced(claims(), "alice", "bob")) +
                                               good.substr(last));
    add("signature in DER", signed_text + "." + base64url(ec_.der_signature(signed_text)));
    add("signature of zeros", signed_text + "." + base64url(std::string(64, '\0')));
    add("signature with a byte more",
        signed_text + "." + base64url(ec_.signature(signed_text) + '\0'));
    add("signature with a byte less",
        signed_text + "." + base64url(ec_.signature(signed_text).substr(1)));
    const std::string rsa_text = base64url(rsa_.header()) + "." + base64url(claims());
    add("RSA signature with a zero before it",
        rsa_text + "." + base64url('\0' + rsa_.signature(rsa_text)));
    add("longer than may be",
        with_claims(claims(",\"pad\":\"" + std::string(8 << 10, 'x') + "\"")));
    add("deeply nested",
        with_claims(claims(",\"deep\":" + std::string(200, '[') + std::string(200, ']'))));
    add("not UTF-8", with_claims(claims(",\"name\":\"\xff\"")));
    add("a lone surrogate", with_claims(claims(",\"name\":\"\\ud800\"")));
    add("a byte order mark", with_claims("\xef\xbb\xbf" + claims()));
    add("something behind the object", with_claims(claims() + "{}"));
    add("a list of claims", with_claims("[" + claims() + "]"));
    add_lines("no header", {});
    add_lines("an empty header", {""});
    add_lines("Bearer alone", {"Bearer"});
    add_lines("no scheme", {good});
    add_lines("Basic", {"Basic " + good});
    add_lines("another scheme", {"DPoP " + good});
    add_lines("two tokens", {"Bearer " + good + " " + good});
    add_lines("two tokens with a comma", {"Bearer " + good + ", Bearer " + good});
    add_lines("the same header twice", {"Bearer " + good, "Bearer " + good});
    add_lines("a good header and a bad one", {"Bearer " + good, "Bearer x"});
  }

  std::vector<Case> cases_;
};

TEST_F(TokenAbuse, EachIsRefusedAndNothingIsStoredOrSent) {
  serve_tokens();
  add_algorithms();
  add_times_and_names();
  add_keys();
  add_forms();
  ASSERT_GE(cases_.size(), 100u);
  std::size_t number = 0;
  for (const Case& attack : cases_) {
    HttpRequest request = order("token-abuse-key-" + std::to_string(++number));
    for (const std::string& line : attack.lines) request.with("Authorization", line);
    const HttpResponse response = gateway_->send(request);
    EXPECT_EQ(response.status, 401) << attack.name << "\n" << response.body;
    const bool sent = !attack.lines.empty();
    EXPECT_EQ(code(response), sent ? "credentials_refused" : "credentials_missing") << attack.name;
    EXPECT_TRUE(response.header("WWW-Authenticate").starts_with("Bearer")) << attack.name;
    EXPECT_EQ(response.body.find("alice"), std::string::npos) << attack.name;
  }
  EXPECT_EQ(upstream_.audit().size(), 0u);
  EXPECT_EQ(upstream_.connections_accepted(), 0u);
  EXPECT_EQ(gateway_->metric("oncekey_reserve_total"), 0);
  EXPECT_EQ(gateway_->process().output().find("alice"), std::string::npos);
}

// What the cases above start from is good, or they would prove nothing.
TEST_F(TokenAbuse, UnchangedTokensPass) {
  serve_tokens();
  std::size_t number = 0;
  const auto passes = [&](const std::string& line) {
    HttpRequest request = order("token-control-key-" + std::to_string(++number));
    const HttpResponse response = gateway_->send(request.with("Authorization", line));
    EXPECT_EQ(response.status, 201) << line << "\n" << response.body;
  };
  for (const TokenMaker* maker : {&secret_, &rsa_, &ec_, &second_ec_}) {
    passes("Bearer " + maker->token(claims()));
  }
  passes("bearer  " + ec_.token(claims()));
  passes("Bearer " + rsa_.token("{\"alg\":\"RS256\"}", claims()));
  passes("Bearer " +
         ec_.token("{\"kid\":\"e1\", \"alg\" : \"\\u0045S256\",\"x5t\":\"AA\"}", claims()));
  passes("Bearer " + ec_.token(replaced(claims(), "\"payments\"", "[\"orders\",\"payments\"]")));
  passes("Bearer " + ec_.token(claims(",\"pad\":\"" + std::string(4 << 10, 'x') + "\"")));
  EXPECT_EQ(upstream_.audit().size(), number);
}

}  // namespace
}  // namespace oncekey::test
