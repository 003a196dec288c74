// PostgreSQL behind a session pooler, which keeps a server's session when a client has gone and
// gives it to the next one.
#include <unistd.h>

#include <filesystem>
#include <sstream>

#include "contract.h"
#include "one_way_proxy.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/server_port.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class Pooler {
 public:
  explicit Pooler(const test::PostgresServer& server) : port_(test::server_port()) {
    if (!std::filesystem::exists(program)) {
      throw std::runtime_error(std::string(program) + " is missing; install with ./dev test");
    }
    std::ostringstream file;
    file << "[databases]\n* = host=127.0.0.1 user=oncekey port=" << server.port()
         << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
         << "\nunix_socket_dir =\nauth_type = any\npool_mode = session\ndefault_pool_size = 1\n";
    // It does not run as root.
    if (::geteuid() == 0) file << "user = postgres\n";
    process_ = std::make_unique<test::Process>(
        std::vector<std::string>{program, folder_.write("pooler.ini", file.str())});
    url_ = server.url();
    server_port_ = std::to_string(server.port());
    const auto accepts = [&] {
      try {
        return test::PostgresClient(url(port_)).query("SELECT 1") == "1";
      } catch (const std::runtime_error&) {
        return false;
      }
    };
    if (!test::eventually(accepts)) throw std::runtime_error(process_->output());
  }

  std::uint16_t port() const { return port_; }
  std::string url(std::uint16_t port) const {
    std::string url = url_;
    return url.replace(url.find(server_port_), server_port_.size(), std::to_string(port));
  }

 private:
  static constexpr const char* program = "/usr/sbin/pgbouncer";

  test::TemporaryFolder folder_;
  std::uint16_t port_;
  std::unique_ptr<test::Process> process_;
  std::string url_;  // the server's own
  std::string server_port_;
};

// On PostgreSQL 13 and 14 everybody may create things in the schema public.
TEST(PostgresSessions, NobodyElsesOperatorsAreUsed) {
  test::PostgresServer server;
  ASSERT_TRUE(migrate(server.url(), soon()).ok());
  server.execute(
      "CREATE FUNCTION public.times(bigint, interval) RETURNS interval LANGUAGE plpgsql AS"
      " $$ BEGIN RAISE 'ran as %', current_user; END $$;"
      "CREATE OPERATOR public.* (LEFTARG = bigint, RIGHTARG = interval, FUNCTION = public.times)");
  auto engine = PostgresEngine::open({.url = server.url(), .timeout_ms = 4'000});
  ASSERT_TRUE(engine) << engine.error();
  const auto taken = apply_to(**engine, reserve_of("a"), 0);
  ASSERT_TRUE(std::holds_alternative<Execute>(taken));
  EXPECT_TRUE(std::holds_alternative<Settled>(
      apply_to(**engine, settle_of("a", std::get<Execute>(taken).fence, answered()), 0)));
}

TEST(PostgresSessions, ConnectionThatWasCutIsReplacedByOneToTheSameSession) {
  test::PostgresServer server;
  ASSERT_TRUE(migrate(server.url(), soon()).ok());
  Pooler pooler(server);
  OneWayProxy proxy(pooler.port());
  auto engine = PostgresEngine::open({.url = pooler.url(proxy.port()), .timeout_ms = 4'000});
  ASSERT_TRUE(engine) << engine.error();
  const auto session = [&] {
    return server.query(
        "SELECT string_agg(pid::text, ',') FROM pg_stat_activity WHERE usename = 'oncekey'");
  };
  const Fence fence = std::get<Execute>(apply_to(**engine, reserve_of("a"), 0)).fence;
  const std::string first = session();
  proxy.cut_at_next_answer();
  const SettleOutcome settled = apply_to(**engine, settle_of("a", fence, answered()), 0);
  EXPECT_TRUE(std::holds_alternative<Settled>(settled));
  EXPECT_EQ(session(), first) << "it was another session, and so nothing was shown";
}

}  // namespace
}  // namespace oncekey::store
