#include "store/store_url.h"

#include <optional>

#include "store/postgres_url.h"
#include "store/redis_url.h"

namespace oncekey::store {
namespace {

constexpr std::string_view examples =
    "\"rocksdb:PATH\", \"sqlite:PATH\", \"memory:\", \"postgres://HOST/DB\" (or postgresql://), "
    "\"redis://HOST\", \"redis+cluster://HOST,HOST\" or \"postgres://HOST/DB+redis://HOST\"";

bool is_postgres(std::string_view url) {
  return url.starts_with("postgres://") || url.starts_with("postgresql://");
}

bool is_redis(std::string_view url) {
  return url.starts_with("redis://") || url.starts_with("redis+cluster://");
}

StoreUrlError wrong(std::string message) {
  return {std::move(message), std::string(examples)};
}

// Where the second store of "postgres://…+redis://…" begins, or npos.
std::size_t second_store(std::string_view text) {
  for (const std::string_view join : {"+redis://", "+redis+cluster://", "+rediss://"}) {
    const std::size_t at = text.find(join);
    if (at != text.npos && at > 0) return at + 1;
  }
  return text.npos;
}

Result<StoreUrl, StoreUrlError> parse_sqlite(std::string_view text) {
  constexpr const char* example = "\"sqlite:./oncekey.db\", or \"sqlite:PATH?shared=1\"";
  StoreUrl url;
  url.kind = StoreUrl::Kind::sqlite;
  const std::size_t question = text.find('?');
  url.path = text.substr(0, question);
  if (url.path.empty()) return StoreUrlError{"the database's file is missing", example};
  if (url.path.starts_with("//")) {
    return StoreUrlError{"sqlite: takes a path, and no host", example};
  }
  if (url.path == ":memory:") {
    return StoreUrlError{"sqlite: keeps its records in a file", "\"memory:\" keeps them nowhere"};
  }
  if (question == text.npos) return url;
  const std::string_view parameter = text.substr(question + 1);
  if (parameter != "shared=1" && parameter != "shared=0") {
    return StoreUrlError{"sqlite: knows only the parameter shared=1", example};
  }
  url.shared_file = parameter == "shared=1";
  return url;
}

// "+memory:" behind the host or database: libpq would take it for a part of the name.
bool names_another_store(std::string_view postgres) {
  const std::size_t last_at = postgres.rfind('@');  // before it there may be a password
  std::size_t plus = postgres.find('+', last_at == postgres.npos ? 0 : last_at);
  for (; plus != postgres.npos; plus = postgres.find('+', plus + 1)) {
    const std::size_t end = postgres.find_first_not_of("abcdefghijklmnopqrstuvwxyz", plus + 1);
    if (end != postgres.npos && end > plus + 1 && postgres[end] == ':') return true;
  }
  return false;
}

// The servers' own parts, each as what connects to it reads it.
std::optional<StoreUrlError> server_problem(const StoreUrl& url) {
  if (!url.postgres.empty()) {
    if (names_another_store(url.postgres)) {
      return StoreUrlError{"behind the + there can only be redis:// or redis+cluster://",
                           "\"postgres://HOST/DB+redis://HOST\""};
    }
    const auto postgres = read_postgres_url(url.postgres);
    if (!postgres) return StoreUrlError{"PostgreSQL: " + postgres.error(), ""};
  }
  if (!url.redis.empty()) {
    const auto redis = parse_redis_url(url.redis);
    if (!redis) return StoreUrlError{"Redis: " + redis.error(), ""};
  }
  return std::nullopt;
}

Result<StoreUrl, StoreUrlError> checked(StoreUrl url) {
  if (auto problem = server_problem(url)) return *problem;
  return url;
}

}  // namespace

Result<StoreUrl, StoreUrlError> parse_store_url(std::string_view text) {
  StoreUrl url;
  if (text == "memory:") return url;
  if (text.starts_with("memory:")) return wrong("memory: takes no path");
  if (text.starts_with("rocksdb:")) {
    url.kind = StoreUrl::Kind::rocksdb;
    url.path = text.substr(8);
    if (url.path.empty()) {
      return StoreUrlError{"the store's folder is missing", "\"rocksdb:./oncekey-data\""};
    }
    return url;
  }
  if (text.starts_with("sqlite:")) return parse_sqlite(text.substr(7));
  if (text.find("rediss://") != text.npos) {
    return StoreUrlError{"rediss: TLS to Redis is not supported",
                         "redis:// through a local TLS tunnel, such as stunnel"};
  }
  if (is_postgres(text)) {
    const std::size_t second = second_store(text);
    url.kind = second == text.npos ? StoreUrl::Kind::postgres : StoreUrl::Kind::tiered;
    url.postgres = text.substr(0, second == text.npos ? second : second - 1);
    if (second != text.npos) url.redis = text.substr(second);
    return checked(std::move(url));
  }
  if (is_redis(text)) {
    if (const std::size_t join = text.find("+postgres"); join != text.npos) {
      return StoreUrlError{"PostgreSQL decides, so it comes first",
                           "\"postgres://HOST/DB+redis://HOST\""};
    }
    url.kind = StoreUrl::Kind::redis;
    url.redis = text;
    return checked(std::move(url));
  }
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return wrong("it has no scheme");
  return wrong("unsupported store (" + std::string(text.substr(0, colon)) + ":)");
}

}  // namespace oncekey::store
