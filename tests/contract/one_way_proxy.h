// Stands between an engine and its server and can lose the answers: what was asked is done, and the
// one who asked does not hear of it.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <thread>
#include <vector>

#include "support/socket.h"

namespace oncekey::store {

class OneWayProxy {
 public:
  // `change`: what an answer becomes on its way.
  using Change = std::function<std::string(std::string)>;
  explicit OneWayProxy(std::uint16_t server_port, Change change = {})
      : server_port_(server_port),
        change_(std::move(change)),
        listener_(test::listen_loopback(port_)),
        thread_([this] { run(); }) {}
  ~OneWayProxy() {
    stopping_ = true;
    thread_.join();
  }
  OneWayProxy(const OneWayProxy&) = delete;
  OneWayProxy& operator=(const OneWayProxy&) = delete;

  std::uint16_t port() const { return port_; }
  std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

  void lose_answers() { loses_answers_ = true; }
  // The next answer is lost, and its connection with it; later ones go through. Before its
  // connection ends, `then` is called.
  void cut_at_next_answer(std::function<void()> then = [] {}) {
    at_cut_ = std::move(then);
    cuts_ = true;
  }
  // Instead of the next answer these bytes come, and no connection is made any more.
  void end_with(std::string last_words) {
    last_words_ = std::move(last_words);
    ends_ = true;
  }
  void pass_answers() { ends_ = loses_answers_ = false; }

 private:
  struct Pair {
    test::Socket client;
    test::Socket server;
  };
  static constexpr int look_every_ms = 5;

  void run() {
    while (!stopping_) {
      std::vector<pollfd> polled = {{listener_.descriptor(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        polled.push_back({pair.client.descriptor(), POLLIN, 0});
        polled.push_back({pair.server.descriptor(), POLLIN, 0});
      }
      ::poll(polled.data(), polled.size(), look_every_ms);
      std::size_t at = 1;
      for (auto pair = pairs_.begin(); pair != pairs_.end(); at += 2) {
        const bool open = (polled[at].revents == 0 || ask(*pair)) &&
                          (polled[at + 1].revents == 0 || answer(*pair));
        pair = open ? std::next(pair) : pairs_.erase(pair);
      }
      if (polled[0].revents != 0) {
        const int accepted = ::accept(listener_.descriptor(), nullptr, nullptr);
        test::Socket client(accepted);
        if (!ends_) pairs_.push_back({std::move(client), test::connect_loopback(server_port_)});
      }
    }
  }
  static bool ask(Pair& pair) {
    std::string bytes;
    const auto got = pair.client.receive(bytes, test::deadline_in(test::patience));
    return got == test::Socket::Received::data && pair.server.send(bytes);
  }
  bool answer(Pair& pair) {
    std::string bytes;
    const auto got = pair.server.receive(bytes, test::deadline_in(test::patience));
    if (got != test::Socket::Received::data) return false;
    if (cuts_.exchange(false)) {
      at_cut_();
      return false;
    }
    if (ends_) {
      pair.client.send(last_words_);
      return false;
    }
    if (change_) bytes = change_(std::move(bytes));
    return loses_answers_ || pair.client.send(bytes);
  }

  std::uint16_t server_port_;
  Change change_;
  std::uint16_t port_ = 0;
  test::Socket listener_;
  std::list<Pair> pairs_;
  std::atomic<bool> loses_answers_{false};
  std::atomic<bool> cuts_{false};
  std::atomic<bool> ends_{false};
  // Written before the flags above, read after them.
  std::function<void()> at_cut_;
  std::string last_words_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace oncekey::store
