// X5: secrets that are planted wherever a request, an answer or the configuration can hold one show
// up in no log line, figure, trace or answer of the admin port.
#include "e2e/token_fixture.h"

namespace oncekey::test {
namespace {

class Redaction : public TokenFixture {
 protected:
  static constexpr const char* key = "redaction-0123456789";

  void serve_with_everything() {
    const std::string encryption = folder_.write("encryption.keys", "k " + encryption_key_ + "\n");
    serve_tokens("", "[traces]\notlp = \"" + collector_.url() +
                         "/v1/traces\"\n[encryption]\nkeys_file = \"" + encryption + "\"\n");
  }
  HttpRequest planted(const std::string& behaviour) const {
    HttpRequest request = order(key, behaviour, "{\"card\":\"canary-in-request-body\"}");
    request.with("Authorization", "Bearer " + token_)
        .with("Cookie", "session=canary-in-cookie")
        .with("X-Api-Secret", "canary-in-header");
    request.target = "/orders?token=canary-in-query";
    return request;
  }
  // All that the admin port tells about this key and this node.
  std::string everything_told() const {
    std::string told;
    const std::string record = "?tenant=" + encoded(tenant_) + "&key=" + std::string(key);
    for (const std::string& target :
         {std::string("/metrics"), std::string("/readyz"), std::string("/v1/keys"),
          "/v1/keys/one" + record, "/v1/keys/timeline" + record, std::string("/v1/settings"),
          std::string("/v1/status"), std::string("/v1/routes"), std::string("/v1/audit"),
          std::string("/openapi.json")}) {
      const HttpResponse answer = gateway_->admin(target);
      EXPECT_EQ(answer.status, 200) << target << "\n" << answer.body;
      told += target + "\n" + answer.body + "\n";
    }
    return told;
  }
  static std::string encoded(const std::string& text) {
    static constexpr char hex[] = "0123456789ABCDEF";
    std::string out;
    for (const unsigned char c : text) out += {'%', hex[c >> 4], hex[c & 15]};
    return out;
  }
  static std::size_t count_of(const std::string& text, const std::string& part) {
    std::size_t count = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
    return count;
  }

  const std::string token_ = ec_.token(claims());
  const std::string encryption_key_ = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
  std::string tenant_;
  ScriptedUpstream collector_;
};

TEST_F(Redaction, CanariesShowUpNowhere) {
  serve_with_everything();
  EXPECT_EQ(gateway_->send(planted("echo")).status, 201);
  EXPECT_EQ(gateway_->send(planted("echo")).status, 201);
  HttpRequest other = planted("echo");
  other.body = "{\"card\":\"canary-in-other-body\"}";
  EXPECT_EQ(gateway_->send(other).status, 422);
  HttpRequest refused = planted("echo");
  refused.headers.clear();
  refused.with("Idempotency-Key", key).with("Authorization", "Bearer canary-in-wrong-token");
  EXPECT_EQ(gateway_->send(refused).status, 401);
  HttpRequest cut = order("redaction-cut-012345", "reset-unanswered", planted("").body);
  cut.with("Authorization", "Bearer " + token_);
  EXPECT_EQ(gateway_->send(cut).status, 502);

  tenant_ = json_text(gateway_->log_line("/key", key), "/tenant");
  ASSERT_TRUE(collector_.audit().wait_for_arrivals(std::size_t{1}));
  std::string shown = everything_told();
  EXPECT_EQ(gateway_->stop(), 0);
  shown += gateway_->process().output();
  for (const Arrival& arrival : collector_.audit().all()) shown += arrival.request.body + "\n";

  // The token's signature alone lets nobody in; the whole of it, or its claims, must not be there.
  const std::string payload = token_.substr(token_.find('.') + 1, 40);
  for (const std::string& secret :
       {std::string("canary-in"), payload, encryption_key_, secret_.secret()}) {
    EXPECT_EQ(count_of(shown, secret), 0u)
        << secret << ": …"
        << shown.substr(shown.find(secret) - std::min<std::size_t>(200, shown.find(secret)), 300);
  }
  EXPECT_GE(count_of(shown, key), 5u) << "hardly anything was shown at all";
}

}  // namespace
}  // namespace oncekey::test
