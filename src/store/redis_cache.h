// Redis as a cache: bytes that may be gone at any time, and a server that may be gone as well.
//
// Nothing here throws or waits longer than its deadline, and a dead Redis costs next to nothing:
// between two attempts to reach it every call returns at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"
#include "store/name_lookup.h"

namespace oncekey::store {

class RedisRouter;

struct RedisCacheOptions {
  DurationMs deadline_ms = 50;  // of one call, connecting included
  DurationMs pause_ms = 500;    // between two attempts to reach a server that did not answer
  LookUp look_up = look_up_by_system;
};

// Used by one thread at a time.
class RedisCache {
 public:
  struct Found {
    enum class Kind : std::uint8_t { hit, miss, not_available };
    Kind kind = Kind::not_available;
    std::string bytes;  // hit only
  };
  struct Entry {
    std::string key;
    std::string bytes;
    DurationMs ttl_ms = 0;  // must be positive
  };

  // `url` is "redis://…" or "redis+cluster://…". Nothing is connected yet; the error is about the
  // URL, and never holds a password.
  static Result<std::unique_ptr<RedisCache>, std::string> open(const std::string& url,
                                                               RedisCacheOptions options = {});
  ~RedisCache();

  // One entry for each key, in their order. Keys are any bytes and kept apart from the engine's.
  std::vector<Found> get(std::span<const std::string> keys);

  // Returns how many were stored.
  std::size_t put(std::span<const Entry> entries);

  // Returns how many are certainly not there any more, counted from the first.
  std::size_t remove(std::span<const std::string> keys);

  // Why the last call could not reach Redis; empty: it could. Never holds a password.
  const std::string& trouble() const { return trouble_; }

 private:
  RedisCache(std::unique_ptr<RedisRouter> router, RedisCacheOptions options);

  std::unique_ptr<RedisRouter> router_;
  RedisCacheOptions options_;
  std::string trouble_;
};

}  // namespace oncekey::store
