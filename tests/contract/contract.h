// What the contract tests share: an engine, a clock they move by hand, and short words for
// operations.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engines.h"
#include "folder.h"
#include "oncekey/store.h"

namespace oncekey::store {

inline constexpr DurationMs lease_ms = 1'000;
inline constexpr DurationMs retention_ms = 60'000;
inline constexpr DurationMs tombstone_ms = 600'000;

inline Fingerprint payload(std::uint8_t seed) {
  Fingerprint fingerprint{.version = 1};
  fingerprint.digest.fill(seed);
  return fingerprint;
}

inline Reserve reserve_of(std::string key, std::uint8_t seed = 1, std::string scope = "tenant") {
  Reserve op;
  op.id = {std::move(scope), std::move(key)};
  op.fingerprint = payload(seed);
  op.lease_ms = lease_ms;
  op.retention_ms = retention_ms;
  op.method = "POST";
  op.path = "/payments";
  op.owner = "node 1, run 1";
  return op;
}

inline SettleCompleted answered(std::string body = "{\"id\":1}") {
  auto response = std::make_shared<StoredResponse>();
  response->status = 201;
  response->headers = {{"content-type", "application/json"}, {"location", "/payments/1"}};
  response->body = std::move(body);
  return {.response = std::move(response)};
}

inline Settle settle_of(std::string key, Fence fence, Verdict verdict,
                        std::string scope = "tenant") {
  Settle op;
  op.id = {std::move(scope), std::move(key)};
  op.fence = fence;
  op.verdict = std::move(verdict);
  return op;
}

template <class Op>
auto apply_to(Engine& engine, Op op, TimestampMs now) {
  Operation operation(std::move(op));
  Operation* const batch[] = {&operation};
  engine.apply(batch, now);
  return std::move(std::get<Op>(operation).outcome);
}

class ContractTest : public ::testing::TestWithParam<EngineUnderTest> {
 protected:
  void SetUp() override { open(); }

  void open() {
    engine_ = GetParam().open(folder_.path(), [this] { return now_; });
    ASSERT_NE(engine_, nullptr);
  }
  void reopen() {
    engine_.reset();
    open();
  }
  void wait(DurationMs time) { now_ += time; }

  template <class Op>
  auto apply(Op op) {
    return apply_to(*engine_, std::move(op), now_);
  }

  // These fail the test where the outcome is another one.
  Execute execute(const std::string& key, std::uint8_t seed = 1) {
    return expect<Execute>(apply(reserve_of(key, seed)));
  }
  Settled settle(const std::string& key, Fence fence, Verdict verdict) {
    return expect<Settled>(apply(settle_of(key, fence, std::move(verdict))));
  }
  // A key in the given state.
  Fence complete(const std::string& key, std::string body = "{\"id\":1}") {
    const Fence fence = execute(key).fence;
    settle(key, fence, answered(std::move(body)));
    return fence;
  }
  Fence fail(const std::string& key) {
    const Fence fence = execute(key).fence;
    settle(key, fence, SettleFailed{"refused"});
    return fence;
  }
  Fence lose(const std::string& key) {
    const Fence fence = execute(key).fence;
    settle(key, fence, SettleUnknown{"cut off", 500});
    return fence;
  }

  std::optional<Record> get(const std::string& key, std::string scope = "tenant") {
    Get op;
    op.id = {std::move(scope), key};
    return expect<std::optional<Record>>(apply(std::move(op)));
  }

  template <class Expected, class Outcome>
  static Expected expect(Outcome outcome) {
    if (auto* value = std::get_if<Expected>(&outcome)) return std::move(*value);
    ADD_FAILURE() << "the outcome is alternative " << outcome.index() << " of the variant";
    if (auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      ADD_FAILURE() << unavailable->reason;
    }
    return {};
  }

  Folder folder_;
  TimestampMs now_ = 1'700'000'000'000;
  std::unique_ptr<Engine> engine_;
};

inline std::string engine_name(const ::testing::TestParamInfo<EngineUnderTest>& info) {
  return info.param.name;
}

}  // namespace oncekey::store
