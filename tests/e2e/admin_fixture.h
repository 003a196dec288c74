// A gateway whose admin API has tokens, and short calls of it.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {

inline const std::string writer = "writer-token-0123456789";
inline const std::string reader = "reader-token-0123456789";

// A call of an admin port. `token` "": none is sent.
inline HttpRequest admin_call(const std::string& method, const std::string& target,
                              const std::string& body = "", const std::string& token = writer) {
  HttpRequest request{.method = method, .target = target, .body = body};
  request.with("Host", "127.0.0.1");
  if (method == "POST") request.with("Content-Type", "application/json");
  if (!token.empty()) request.with("Authorization", "Bearer " + token);
  return request;
}

class AdminFixture : public GatewayFixture {
 protected:
  // `store` "": rocksdb.
  void serve_with_tokens(const std::string& toml = "", const std::string& store = "") {
    gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
        .upstream = upstream_.url(), .toml = admin_toml() + toml, .store = store});
  }

  std::string admin_toml() {
    const std::string tokens =
        folder_.write("tokens", "alice write " + writer + "\nbob read " + reader + "\n");
    ::chmod(tokens.c_str(), 0600);
    return "admin_token_file = \"" + tokens + "\"\nadmin_audit_file = \"" + audit_path() + "\"\n";
  }
  std::string audit_path() const { return (folder_.path() / "audit.jsonl").string(); }

  HttpResponse get(const std::string& target, const std::string& token = writer) {
    return exchange(gateway_->admin_port(), admin_call("GET", target, "", token));
  }
  HttpResponse change(const std::string& target, const std::string& body,
                      const std::string& token = writer) {
    return exchange(gateway_->admin_port(), admin_call("POST", target, body, token));
  }

  std::vector<std::string> audit_lines() const {
    std::ifstream file(audit_path());
    std::vector<std::string> lines;
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TemporaryFolder folder_;
};

}  // namespace oncekey::test
