// What the tests of a Redis in trouble share: an engine with the server's clock, and short words.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <variant>

#include "contract.h"
#include "store/redis.h"
#include "support/redis_server.h"
#include "support/waiting.h"

namespace oncekey::store {

inline constexpr DurationMs long_lease_ms = 600'000;

// Long enough for a loaded machine; short where a test waits for it to pass.
inline constexpr DurationMs patient_ms = 10'000;
inline constexpr DurationMs short_ms = 400;

inline std::unique_ptr<RedisEngine> engine_on(const std::string& url,
                                              DurationMs timeout_ms = patient_ms) {
  auto engine = RedisEngine::open({.url = url, .timeout_ms = timeout_ms});
  if (!engine) {
    ADD_FAILURE() << engine.error();
    return nullptr;
  }
  return std::move(*engine);
}

inline ReserveOutcome reserve(Engine& engine, const std::string& key) {
  Reserve op = reserve_of(key);
  op.lease_ms = long_lease_ms;
  return apply_to(engine, std::move(op), 0);
}

inline SettleOutcome settle(Engine& engine, const std::string& key, Fence fence, Verdict verdict) {
  return apply_to(engine, settle_of(key, fence, std::move(verdict)), 0);
}

inline std::optional<Record> look(Engine& engine, const std::string& key) {
  Get op;
  op.id = {"tenant", key};
  auto outcome = apply_to(engine, std::move(op), 0);
  if (const auto* down = std::get_if<Unavailable>(&outcome)) ADD_FAILURE() << down->reason;
  auto* record = std::get_if<std::optional<Record>>(&outcome);
  return record == nullptr ? std::nullopt : *record;
}

template <class Expected, class Outcome>
bool is(const Outcome& outcome) {
  return std::holds_alternative<Expected>(outcome);
}

// Says what it is instead.
template <class Outcome>
std::string reason_of(const Outcome& outcome) {
  const auto* down = std::get_if<Unavailable>(&outcome);
  return down == nullptr ? "alternative " + std::to_string(outcome.index()) : down->reason;
}

#define EXPECT_OUTCOME(Expected, outcome)                 \
  do {                                                    \
    const auto& named = (outcome);                        \
    EXPECT_TRUE(is<Expected>(named)) << reason_of(named); \
  } while (false)

template <class Outcome>
Fence fence_of(const Outcome& outcome) {
  const auto* held = std::get_if<Execute>(&outcome);
  if (held != nullptr) return held->fence;
  ADD_FAILURE() << reason_of(outcome);
  return 0;
}

inline Fence complete(Engine& engine, const std::string& key) {
  const Fence fence = fence_of(reserve(engine, key));
  const SettleOutcome settled = settle(engine, key, fence, answered("of " + key));
  EXPECT_OUTCOME(Settled, settled);
  return fence;
}

// As a caller would: again until the store is back.
inline bool recovers(Engine& engine, const std::string& key) {
  return test::eventually([&] { return is<Replay>(reserve(engine, key)); });
}

class Stopwatch {
 public:
  DurationMs elapsed_ms() const {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                 start_)
        .count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace oncekey::store
