// The campaign's clients: new operations, duplicates, changed bodies, and retries after a loss.
// With several gateways every request goes to any of them, and some go to all at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "crash/finding.h"
#include "crash/ledger.h"
#include "support/http_client.h"

namespace oncekey::test {

struct LoadOptions {
  std::uint64_t seed = 1;  // decides every client's choices; the disturbances decide the rest
  int clients = 6;
  std::size_t gateways = 1;
  Milliseconds pause_max{0};   // between two operations of a client
  std::string keys = "crash";  // what keys begin with
};

struct LoadFigures {
  std::size_t requests = 0;
  std::size_t duplicates = 0;        // requests whose key had been sent before
  std::size_t connections_lost = 0;  // no complete answer
  std::size_t refused = 0;           // 503, of the gateway or the upstream
  Milliseconds slowest{0};           // of all answers, whatever they were
};

class Load {
 public:
  Load(Ledger& ledger, LoadOptions options);
  ~Load() { stop(); }

  void point_at(std::size_t gateway, std::uint16_t port);  // it is back on this port; 0: it is down
  void stop();

  LoadFigures figures() const;
  std::vector<Finding> findings() const;

 private:
  class Client;

  void complain(Finding::Kind kind, const std::string& key, std::string what);
  bool any_other(std::size_t gateway, std::uint16_t lost_port) const;
  void wait_for_gateway(std::size_t gateway, std::uint16_t lost_port);
  void count_sent(std::size_t number);
  void note(Milliseconds took, const HttpResponse& response, const Operation& operation);

  Ledger& ledger_;
  const LoadOptions options_;
  std::vector<std::atomic<std::uint16_t>> ports_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  LoadFigures figures_;
  std::vector<Finding> findings_;
  std::vector<std::thread> threads_;
};

}  // namespace oncekey::test
