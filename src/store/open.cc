#include "store/open.h"

#include "store/memory.h"
#include "store/rocksdb.h"

namespace oncekey::store {

Result<std::unique_ptr<Engine>, std::string> open_engine(std::string_view url,
                                                         const OpenOptions& options) {
  const std::size_t colon = url.find(':');
  const std::string_view scheme = url.substr(0, colon);
  const std::string_view rest = colon == url.npos ? "" : url.substr(colon + 1);
  if (colon != url.npos && scheme == "memory") {
    if (!rest.empty()) return "memory: takes no path, but got " + std::string(rest);
    return std::unique_ptr<Engine>(std::make_unique<MemoryEngine>());
  }
  if (colon != url.npos && scheme == "rocksdb") {
    return RocksEngine::open({.path = std::string(rest), .clock = options.clock});
  }
  // Only the scheme: the rest of a URL may hold a password.
  const std::string what = colon == url.npos ? "it has no scheme" : std::string(scheme) + ":";
  return "unsupported store (" + what + "); supported: memory:, rocksdb:PATH";
}

}  // namespace oncekey::store
