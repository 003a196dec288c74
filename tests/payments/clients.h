// The campaign's clients. Each operation is sent until it has a final answer, some of them by two
// clients at once and some once more later; every final answer to a key must be the same.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "support/http_client.h"

namespace oncekey::test {

struct PaymentOperation {
  HttpRequest request;
  std::string key;
  bool refund = false;
  bool async = false;
  int amount = 0;
  int status = 0;  // of the first final answer; 0: none yet
  std::string body;
};

struct ClientFigures {
  std::size_t requests = 0;
  std::size_t connections_lost = 0;
  std::size_t replays = 0;
};

class PaymentClients {
 public:
  PaymentClients(std::uint16_t port, std::uint64_t seed, std::size_t payments, int clients);
  ~PaymentClients();

  std::size_t begun() const { return begun_; }
  bool done() const { return running_ == 0; }
  // After they are done. Sends every operation once more: nothing may have changed.
  void ask_again();

  const std::vector<PaymentOperation>& operations() const { return operations_; }
  ClientFigures figures() const;
  std::vector<std::string> violations() const;

 private:
  void work(std::uint64_t seed);
  std::optional<std::size_t> next(std::mt19937_64& random);
  void send_until_final(std::size_t number, HttpConnection& connection, std::mt19937_64& random);
  void note(std::size_t number, const HttpResponse& response);
  PaymentOperation at(std::size_t number) const;

  const std::uint16_t port_;
  const std::size_t payments_;
  std::atomic<std::size_t> begun_ = 0;
  std::atomic<int> running_;
  std::atomic<bool> stopping_ = false;
  mutable std::mutex mutex_;
  std::vector<PaymentOperation> operations_;
  ClientFigures figures_;
  std::vector<std::string> violations_;
  std::vector<std::thread> threads_;
};

}  // namespace oncekey::test
