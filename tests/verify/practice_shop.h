// A small order service to verify, with at most one flaw. One thread per connection, two nodes.
//   POST, PATCH /orders, /baskets   makes an order    X-Shop-Slow: MS takes that long
//   GET /count, or anything else    {"orders":[…]}    X-Shop-Fail: 500 fails, nothing done
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "support/http_message.h"
#include "support/socket.h"
#include "verify/key_memory.h"

namespace oncekey::test {

class PracticeShop {
 public:
  explicit PracticeShop(Flaw flaw, Milliseconds retention = Milliseconds(3'600'000));
  ~PracticeShop();

  std::string url() const { return url_of(ports_[0]); }
  std::string second_url() const { return url_of(ports_[1]); }
  std::size_t orders() const;
  std::size_t requests() const { return requests_; }  // all that came, on both nodes

 private:
  static std::string url_of(std::uint16_t port);

  void accept_all(std::size_t node);
  void serve(Socket& socket, std::size_t node);
  Reply reply_to(const HttpMessage& request, Socket& socket, std::size_t node);
  Reply order(const HttpMessage& request);
  Reply list() const;

  const Flaw flaw_;
  KeyMemory memories_[2];
  std::uint16_t ports_[2] = {0, 0};
  Socket listeners_[2];
  std::atomic<std::size_t> requests_ = 0;

  mutable std::mutex mutex_;
  std::vector<std::string> orders_;
  std::set<int> open_;
  std::list<std::thread> threads_;
  std::thread acceptors_[2];
};

}  // namespace oncekey::test
