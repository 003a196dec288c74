// The simulated payment provider of examples/provider, on a free port with a ledger of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/http_client.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace oncekey::test {

class ProviderProcess {
 public:
  // `flags` are added to --listen and --ledger.
  explicit ProviderProcess(std::vector<std::string> flags = {});

  void start();  // on the port it had before, if any, and the same ledger
  void kill();   // SIGKILL, and waits
  void restart() {
    kill();
    start();
  }

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  Process& process() { return *process_; }

  // A charge over 100 EUR cents, its key also its reference. `fault` is X-Fault; "": none.
  static HttpRequest charge(const std::string& key, const std::string& fault = "",
                            const std::string& body = "");
  HttpResponse post(const HttpRequest& request, Milliseconds timeout = patience) const {
    return exchange(port_, request, timeout);
  }
  HttpResponse get(const std::string& target) const;
  // A field of /ledger/summary, such as /charges or /sum/EUR; 0 when it is not there.
  std::int64_t total(const std::string& pointer) const;

 private:
  std::vector<std::string> flags_;
  TemporaryFolder folder_;
  std::unique_ptr<Process> process_;
  std::uint16_t port_ = 0;
};

}  // namespace oncekey::test
