// From a store's URL to its engines.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"
#include "oncekey/store.h"
#include "store/cache_watch.h"
#include "store/sealed_engine.h"
#include "store/store_url.h"

namespace oncekey::store {

struct OpenOptions {
  std::function<TimestampMs()> clock;  // read while an embedded store is being opened or closed
  DurationMs timeout_ms = 2'000;       // shared stores: a batch slower than this is given up
  std::string secret;                  // tiered: authenticates what is kept in Redis
  DurationMs replay_trust_ms = 0;      // tiered: how long Redis is believed without asking
  Sealing sealing;                     // encryption at rest
};

// Every engine that one process uses of one store. A shared store serves several batches at once,
// each on a connection of its own; an embedded one has one engine for everything.
struct Store {
  std::vector<std::unique_ptr<Engine>> lanes;
  std::unique_ptr<Engine> background;    // sweeping, reaping, operators; null: use the lanes
  std::shared_ptr<SealKeyring> keyring;  // of encryption at rest; null: nothing is encrypted
  std::shared_ptr<CacheWatch> cache;     // null: there is no cache before it
};

// The error is a sentence for operators, and never holds a password.
Result<Store, std::string> open_store(const StoreUrl& url, const OpenOptions& options);

// A value that all nodes of a shared store have in common: the first to name one decides. Returns
// the value in force.
struct AgreementError {
  std::string message;
};
Result<std::string, AgreementError> agree_on(const StoreUrl& url, std::string_view name,
                                             std::string_view value, const OpenOptions& options);

}  // namespace oncekey::store
