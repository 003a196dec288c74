// A store's URL, taken apart. What it names is not touched.
#pragma once

#include <string>
#include <string_view>

#include "oncekey/result.h"

namespace oncekey::store {

struct StoreUrl {
  enum class Kind { memory, rocksdb, sqlite, postgres, redis, tiered };

  Kind kind = Kind::memory;
  std::string path;      // rocksdb and sqlite
  std::string postgres;  // postgres and tiered: "postgres://…", as libpq reads it
  std::string redis;     // redis and tiered: "redis://…" or "redis+cluster://…"

  bool shared_file = false;  // sqlite: "sqlite:PATH?shared=1", a service's own database

  // Other processes may use the same records at the same time.
  bool shared() const {
    return shared_file || (kind != Kind::memory && kind != Kind::rocksdb && kind != Kind::sqlite);
  }
  // The store itself keeps what its users have in common; see agree_on() in open.h.
  bool keeps_agreements() const { return shared() || kind == Kind::sqlite; }
};

struct StoreUrlError {
  std::string message;  // never holds a piece of what may be a password
  std::string hint;
};

// What is certain without connecting is found here: an option that nobody knows, a port that is
// none.
Result<StoreUrl, StoreUrlError> parse_store_url(std::string_view text);

}  // namespace oncekey::store
