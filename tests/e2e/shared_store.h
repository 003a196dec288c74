// Gateways on a store that they share: which store it is, what can be done to it, and two nodes.
#pragma once

#include <memory>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "e2e/gateway_fixture.h"
#include "support/postgres_server.h"
#include "support/redis_server.h"
#include "support/shared_servers.h"

namespace oncekey::test {

enum class StoreKind { postgres, redis, tiered };

inline std::string name_of(StoreKind kind) {
  switch (kind) {
    case StoreKind::postgres:
      return "postgres";
    case StoreKind::redis:
      return "redis";
    case StoreKind::tiered:
      return "tiered";
  }
  return "";
}

inline void PrintTo(StoreKind kind, std::ostream* out) {
  *out << name_of(kind);
}

inline void migrate(const std::string& url) {
  Process process({oncekey_binary(), "migrate", "--store", url});
  if (process.wait() != 0) throw std::runtime_error("migrate:\n" + process.output());
}

// An empty store on the servers that all tests share.
inline std::string fresh_store(StoreKind kind) {
  const auto postgres = [] {
    std::string url = shared_postgres().fresh_database();
    migrate(url);
    return url;
  };
  switch (kind) {
    case StoreKind::postgres:
      return postgres();
    case StoreKind::redis:
      return shared_redis().fresh_database();
    case StoreKind::tiered:
      return postgres() + "+" + shared_redis().fresh_database();
  }
  return "";
}

// A store on servers of its own, to be stopped and frozen. The one that decides, that is: in the
// tiered store the Redis stays up.
class FragileStore {
 public:
  explicit FragileStore(StoreKind kind, PostgresServer::Options options = {}) {
    if (kind != StoreKind::redis) {
      postgres_.emplace(std::move(options));
      migrate(postgres_->url());
      url_ = postgres_->url();
    }
    if (kind != StoreKind::postgres) redis_.emplace();
    if (kind == StoreKind::redis) url_ = redis_->url();
    if (kind == StoreKind::tiered) url_ += "+" + redis_->url();
  }

  const std::string& url() const { return url_; }
  void stop() { postgres_ ? postgres_->stop_fast() : redis_->stop(); }
  void start() { postgres_ ? postgres_->start() : redis_->start(); }
  void freeze() { postgres_ ? postgres_->freeze() : redis_->freeze(); }
  void thaw() { postgres_ ? postgres_->thaw() : redis_->thaw(); }
  RedisServer& redis() { return *redis_; }
  PostgresServer& postgres() { return *postgres_; }

 private:
  std::optional<PostgresServer> postgres_;
  std::optional<RedisServer> redis_;
  std::string url_;
};

class SharedStoreFixture : public GatewayFixture, public ::testing::WithParamInterface<StoreKind> {
 protected:
  using Gateway = std::unique_ptr<GatewayProcess>;

  Gateway node(const std::string& url, const std::string& toml = "",
               std::vector<std::string> launcher = {}) {
    return std::make_unique<GatewayProcess>(GatewayProcess::Options{
        .upstream = upstream_.url(), .toml = toml, .store = url, .launcher = std::move(launcher)});
  }

  // `gateway_` is the first node: short requests of the fixture go to it.
  void serve_on_two_nodes(const std::string& toml = "") {
    const std::string url = fresh_store(GetParam());
    gateway_ = node(url, toml);
    other_ = node(url, toml);
  }

  void TearDown() override {
    GatewayFixture::TearDown();
    if (!HasFailure() || !other_) return;
    std::cerr << "the other node:\n";
    for (const std::string& line : other_->process().lines()) std::cerr << line << "\n";
  }

  Gateway other_;
};

inline std::string store_name(const ::testing::TestParamInfo<StoreKind>& info) {
  return name_of(info.param);
}

// What is to happen within seconds, measured.
inline constexpr Milliseconds recovery_limit{5'000};

}  // namespace oncekey::test
