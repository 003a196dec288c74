// From a store's URL to an engine.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "oncekey/result.h"
#include "oncekey/store.h"

namespace oncekey::store {

struct OpenOptions {
  std::function<TimestampMs()> clock;  // read while the store is being opened or closed
};

// `memory:` or `rocksdb:PATH`. The error is a sentence for operators.
Result<std::unique_ptr<Engine>, std::string> open_engine(std::string_view url,
                                                         const OpenOptions& options);

}  // namespace oncekey::store
