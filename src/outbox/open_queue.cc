#include "outbox/postgres_queue.h"
#include "outbox/queue.h"
#include "outbox/sqlite_queue.h"
#include "store/store_url.h"

namespace oncekey::outbox {

Result<std::unique_ptr<Queue>, std::string> open_queue(std::string_view url) {
  constexpr std::string_view sqlite = "sqlite:";
  if (url.starts_with("postgres://") || url.starts_with("postgresql://")) {
    const auto store = store::parse_store_url(url);
    if (!store) return store.error().message;
    return PostgresQueue::open(store->postgres);  // without a Redis in front of it
  }
  if (url.starts_with(sqlite)) return open_sqlite_queue(url.substr(sqlite.size()));
  // Only the scheme is repeated: the rest may hold a password.
  return "\"" + std::string(url.substr(0, url.find(':'))) +
         "\" is no database with an outbox; use postgres://HOST/DATABASE or sqlite:PATH";
}

}  // namespace oncekey::outbox
