#include "store/open.h"

#include "store/memory.h"
#include "store/rocksdb.h"

namespace oncekey::store {
namespace {

Result<Store, std::string> only(std::unique_ptr<Engine> engine) {
  Store store;
  store.lanes.push_back(std::move(engine));
  return store;
}

}  // namespace

Result<Store, std::string> open_store(const StoreUrl& url, const OpenOptions& options) {
  switch (url.kind) {
    case StoreUrl::Kind::memory:
      return only(std::make_unique<MemoryEngine>());
    case StoreUrl::Kind::rocksdb: {
      auto engine = RocksEngine::open({.path = url.path, .clock = options.clock});
      if (!engine) return engine.error();
      return only(std::move(*engine));
    }
    case StoreUrl::Kind::postgres:
    case StoreUrl::Kind::redis:
    case StoreUrl::Kind::tiered:
      break;
  }
  return std::string("this store is not supported yet");
}

Result<std::string, AgreementError> agree_on(const StoreUrl&, std::string_view, std::string_view,
                                             const OpenOptions&) {
  return AgreementError{"this store is not supported yet"};
}

}  // namespace oncekey::store
