// What the end-to-end tests share: a scripted upstream, the real gateway before it, short requests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>

#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/scripted_upstream.h"
#include "support/waiting.h"

namespace oncekey::test {

class GatewayFixture : public ::testing::Test {
 protected:
  // `toml`: the configuration except the addresses, the upstream and the store.
  void serve(const std::string& toml = "", std::vector<std::string> arguments = {}) {
    gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
        .upstream = upstream_.url(), .toml = toml, .arguments = std::move(arguments)});
  }

  // A failure without the gateway's own words is hard to read.
  void TearDown() override {
    if (!HasFailure() || !gateway_) return;
    constexpr std::size_t lines_max = 15;
    std::vector<std::string> lines = gateway_->process().lines();
    std::size_t start = lines.size() - std::min(lines.size(), lines_max);
    for (std::size_t i = start; i < lines.size(); ++i) std::cerr << lines[i] << "\n";
    if (auto ended = gateway_->process().wait(Milliseconds(0))) {
      std::cerr << "the gateway has ended with " << *ended << "\n";
    }
  }

  static HttpRequest order(const std::string& key, const std::string& behaviour = "",
                           const std::string& body = "{\"amount\":1}") {
    HttpRequest request{.body = body};
    request.with("Content-Type", "application/json");
    if (!key.empty()) request.with("Idempotency-Key", key);
    if (!behaviour.empty()) request.with(std::string(behaviour_header), behaviour);
    return request;
  }

  HttpResponse post(const std::string& key, const std::string& behaviour = "",
                    const std::string& body = "{\"amount\":1}") {
    return gateway_->send(order(key, behaviour, body));
  }

  // Sends an order that stays at the upstream until the gate of this name opens.
  std::unique_ptr<HttpConnection> post_held(const std::string& key, const std::string& gate,
                                            const std::string& behaviour = "") {
    auto connection = std::make_unique<HttpConnection>(gateway_->port());
    connection->send(order(key, "hold=" + gate + " " + behaviour).bytes());
    EXPECT_TRUE(upstream_.audit().wait_for_arrivals(key, 1)) << "the order did not arrive";
    return connection;
  }

  // Asks again until the key is no longer in flight: settling goes on after a client hung up.
  HttpResponse post_until_settled(const HttpRequest& request) {
    HttpResponse response;
    eventually([&] {
      response = gateway_->send(request);
      return json_text(response.body, "/code") != "request_in_flight";
    });
    return response;
  }

  std::string record(const std::string& key, const std::string& pointer) {
    return json_text(gateway_->admin("/v1/keys/one?key=" + key).body, pointer);
  }

  // Of the look-up of a key: 404 when the gateway knows nothing of it.
  int look_up_status(const std::string& key) {
    return gateway_->send({.method = "GET", .target = "/.well-known/idempotency/keys/" + key})
        .status;
  }

  std::size_t arrivals(const std::string& key) { return upstream_.audit().of_key(key).size(); }

  ScriptedUpstream upstream_;
  std::unique_ptr<GatewayProcess> gateway_;
};

// Long enough for the default minimum, and readable in a failure.
inline const std::string key_a = "key-aaaaaaaaaaaaaaaa";
inline const std::string key_b = "key-bbbbbbbbbbbbbbbb";

inline std::string code(const HttpResponse& response) {
  return json_text(response.body, "/code");
}

}  // namespace oncekey::test
