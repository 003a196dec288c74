// An HTTP server that gives each request the next answer of a list, and keeps what came. One
// connection at a time, one request on each.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/http_message.h"
#include "support/socket.h"

namespace oncekey::test {

struct ListedAnswer {
  enum class Way {
    answered,
    reset,    // after the whole request, without a byte
    silence,  // nothing, until the client gives up
    cut,      // the head and half of the body
  };

  int status = 204;
  std::vector<Header> headers;
  std::string body;
  Way way = Way::answered;
};

class ListedAnswers {
 public:
  // After the last answer of the list, it is given again and again.
  explicit ListedAnswers(std::vector<ListedAnswer> answers = {{}});
  ~ListedAnswers();
  ListedAnswers(const ListedAnswers&) = delete;
  ListedAnswers& operator=(const ListedAnswers&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }

  std::vector<HttpMessage> requests() const;
  // False when fewer have come in time.
  bool wait_for_requests(std::size_t count, Milliseconds timeout = patience) const;

 private:
  void serve_all();
  void serve(Socket socket);
  static void answer(Socket& socket, const ListedAnswer& answer);

  std::uint16_t port_ = 0;
  Socket listener_;
  const std::vector<ListedAnswer> answers_;
  mutable std::mutex mutex_;
  mutable std::condition_variable came_;
  std::vector<HttpMessage> requests_;
  int serving_ = -1;  // the descriptor of the connection under way
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace oncekey::test
