// The campaign's clients: new operations, duplicates, changed bodies, and retries after a loss.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crash/ledger.h"
#include "support/http_client.h"

namespace oncekey::test {

class Load {
 public:
  // `seed` decides every client's choices; the kills decide the rest.
  Load(Ledger& ledger, std::uint64_t seed, int clients);
  ~Load() { stop(); }

  void point_at(std::uint16_t port) { port_ = port; }  // the gateway is back on this port
  void stop();

  std::size_t requests() const { return requests_; }
  std::size_t connections_lost() const { return lost_; }
  std::vector<std::string> violations() const;

  static HttpRequest request_of(const Operation& operation);

 private:
  class Client;

  void complain(std::string violation);
  void wait_for_gateway(std::uint16_t lost_port);

  Ledger& ledger_;
  std::atomic<std::uint16_t> port_ = 0;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> requests_ = 0;
  std::atomic<std::size_t> lost_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> violations_;
  std::vector<std::thread> threads_;
};

}  // namespace oncekey::test
