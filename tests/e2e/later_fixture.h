// For look-ups of one's own key and answers that come later: an embedded and a shared store.
#pragma once

#include "e2e/shared_store.h"

namespace oncekey::test {

inline const std::string keys_path = "/.well-known/idempotency/keys/";

class LaterFixture : public GatewayFixture, public ::testing::WithParamInterface<const char*> {
 protected:
  void serve_here(const std::string& toml) {
    GatewayProcess::Options options{.upstream = upstream_.url(), .toml = toml};
    if (std::string(GetParam()) == "postgres") options.store = fresh_store(StoreKind::postgres);
    gateway_ = std::make_unique<GatewayProcess>(options);
  }

  HttpResponse look(const std::string& path, const std::string& tenant = "",
                    const std::string& method = "GET") {
    HttpRequest request{.method = method, .target = keys_path + path};
    if (!tenant.empty()) request.with("X-Tenant", tenant);
    HttpConnection connection(gateway_->port());
    connection.send(request.bytes());
    return connection.receive(method == "HEAD");
  }

  static std::string state(const HttpResponse& response) {
    return json_text(response.body, "/state");
  }
};

inline std::string later_store_name(const ::testing::TestParamInfo<const char*>& info) {
  return info.param;
}

}  // namespace oncekey::test
