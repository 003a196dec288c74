// PgBouncer before a PostgreSQL server.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/postgres_client.h"
#include "support/postgres_server.h"
#include "support/process.h"
#include "support/server_port.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace oncekey::test {

class Pooler {
 public:
  // `mode`: session or transaction; with a single session of the server.
  Pooler(const PostgresServer& server, const std::string& mode) : port_(server_port()) {
    if (!std::filesystem::exists(program)) {
      throw std::runtime_error(std::string(program) + " is missing; install with ./dev test");
    }
    std::ostringstream file;
    file << "[databases]\n* = host=127.0.0.1 user=oncekey port=" << server.port()
         << "\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = " << port_
         << "\nunix_socket_dir =\nauth_type = any\npool_mode = " << mode
         << "\ndefault_pool_size = 1\n";
    // It does not run as root.
    if (::geteuid() == 0) file << "user = postgres\n";
    process_ = std::make_unique<Process>(
        std::vector<std::string>{program, folder_.write("pooler.ini", file.str())});
    url_ = server.url();
    server_port_ = std::to_string(server.port());
    const auto accepts = [&] {
      try {
        return PostgresClient(url(port_)).query("SELECT 1") == "1";
      } catch (const std::runtime_error&) {
        return false;
      }
    };
    if (!eventually(accepts)) throw std::runtime_error(process_->output());
  }

  std::uint16_t port() const { return port_; }
  std::string url(std::uint16_t port) const {
    std::string url = url_;
    return url.replace(url.find(server_port_), server_port_.size(), std::to_string(port));
  }

 private:
  static constexpr const char* program = "/usr/sbin/pgbouncer";

  TemporaryFolder folder_;
  std::uint16_t port_;
  std::unique_ptr<Process> process_;
  std::string url_;  // the server's own
  std::string server_port_;
};

}  // namespace oncekey::test
