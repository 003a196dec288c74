// A gateway whose tenants are the subjects of tokens.
#pragma once

#include "e2e/gateway_fixture.h"
#include "support/temporary_folder.h"
#include "support/token_maker.h"

namespace oncekey::test {

class TokenFixture : public GatewayFixture {
 protected:
  std::string all_keys() const { return jwks({&secret_, &rsa_, &ec_, &second_ec_}); }

  // `more` goes into [tenant], `rest` behind it.
  void serve_tokens(const std::string& more = "", const std::string& rest = "") {
    keys_path_ = folder_.write("keys.json", all_keys());
    serve("[tenant]\nfrom = \"jwt\"\nkeys = \"" + keys_path_ +
          "\"\nissuer = \"https://login.example\"\naudience = \"payments\"\n" + more + rest);
  }

  static std::string claims(const std::string& more = "", std::string_view subject = "alice") {
    return claims_of(subject, ",\"iss\":\"https://login.example\",\"aud\":\"payments\"" + more);
  }

  HttpResponse post_as(const std::string& token, const std::string& key,
                       const std::string& target = "/orders") const {
    HttpRequest request = order(key);
    request.target = target;
    return gateway_->send(request.with("Authorization", "Bearer " + token));
  }

  const TemporaryFolder folder_;
  std::string keys_path_;
  const TokenMaker secret_{TokenMaker::Kind::secret, "s1"};
  const TokenMaker rsa_{TokenMaker::Kind::rsa, "r1"};
  const TokenMaker ec_{TokenMaker::Kind::ec, "e1"};
  const TokenMaker second_ec_{TokenMaker::Kind::ec, "e2"};
};

}  // namespace oncekey::test
