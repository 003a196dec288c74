// The real binary, serving on free ports before an upstream.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "support/http_client.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace oncekey::test {

// $ONCEKEY_BINARY, or the binary that was built along with this test.
std::string oncekey_binary();

class GatewayProcess {
 public:
  struct Options {
    std::string upstream;                // http://host:port
    std::string toml;                    // the rest of the configuration file
    std::string store;                   // "": rocksdb in the gateway's own folder
    std::vector<std::string> arguments;  // more flags
    bool whole_file = false;             // `toml` is all of it: only --config is given
    std::vector<std::string> launcher;   // words before the binary's path
  };

  explicit GatewayProcess(Options options);

  void start();               // throws with the child's output when it does not become ready
  void kill();                // SIGKILL, and waits
  std::optional<int> stop();  // SIGTERM, and the exit code
  void restart() {
    kill();
    start();
  }

  std::uint16_t port() const { return port_; }
  std::uint16_t admin_port() const { return admin_port_; }
  Process& process() { return *process_; }
  const TemporaryFolder& folder() const { return folder_; }

  HttpResponse send(const HttpRequest& request) const { return exchange(port_, request); }
  HttpResponse admin(const std::string& target) const;
  // A metric's value, summed over all its label sets that contain `labels`.
  double metric(const std::string& name, const std::string& labels = "") const;

  // The first request log line with this field, once it has been written.
  std::string log_line(const std::string& pointer, const std::string& value) const;

 private:
  void await_ready();

  Options options_;
  TemporaryFolder folder_;
  std::unique_ptr<Process> process_;
  std::uint16_t port_ = 0;
  std::uint16_t admin_port_ = 0;
};

}  // namespace oncekey::test
