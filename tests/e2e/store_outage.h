// A gateway on a shared store of its own, which goes away and comes back.
#pragma once

#include <chrono>
#include <string>

#include "e2e/shared_store.h"

namespace oncekey::test {

// A batch is given up after 800 ms, a request after 2 s.
inline constexpr const char* short_patience = "[timeouts]\nstore = \"2s\"\n";
inline constexpr Milliseconds answer_limit{4'000};  // with a loaded machine in mind
inline constexpr Milliseconds at_once{700};

class StoreOutage : public SharedStoreFixture {
 protected:
  void serve_on(FragileStore& store, const std::string& routes = "") {
    gateway_ = node(store.url(), short_patience + routes);
  }

  // One order, which must be refused within the limit.
  void expect_refused(const std::string& key, Milliseconds limit) {
    const auto start = std::chrono::steady_clock::now();
    HttpResponse refused = post(key);
    const auto took = std::chrono::steady_clock::now() - start;
    EXPECT_EQ(refused.status, 503) << refused.body;
    EXPECT_EQ(code(refused), "store_unavailable");
    EXPECT_NE(refused.header("Retry-After"), "");
    EXPECT_LT(took, limit) << "it took " << took / Milliseconds(1) << " ms";
    EXPECT_EQ(arrivals(key), 0u);
  }

  void expect_down() {
    EXPECT_TRUE(eventually([&] {
      return gateway_->metric("oncekey_store_breaker_state") > 0 || post(key_b).status == 201;
    }));
    HttpResponse ready = gateway_->admin("/readyz");
    EXPECT_EQ(ready.status, 503);
    EXPECT_NE(json_text(ready.body, "/reason").find("the store is down"), std::string::npos)
        << ready.body;
    EXPECT_NE(json_text(ready.body, "/store"), "");
    EXPECT_NE(json_text(gateway_->log_line("/event", "store_down"), "/reason"), "");
    EXPECT_EQ(gateway_->send({.method = "GET"}).status, 201) << "unprotected requests go on";
  }

  void expect_back() {
    HttpResponse served;
    EXPECT_TRUE(eventually(
        [&] {
          served = post(key_a);
          EXPECT_NE(code(served), "outcome_unknown");
          return served.status == 201;
        },
        recovery_limit))
        << served.body;
    EXPECT_EQ(arrivals(key_a), 1u);
    EXPECT_EQ(gateway_->metric("oncekey_store_breaker_state"), 0);
    EXPECT_NE(gateway_->log_line("/event", "store_back"), "");
  }
};

}  // namespace oncekey::test
