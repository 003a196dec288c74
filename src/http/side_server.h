// A small server beside the main one, on a thread of its own: for operators and for webhooks.
#pragma once

#include <memory>
#include <string>
#include <thread>

#include "http/server.h"

namespace oncekey::http {

class SideServer {
 public:
  static constexpr std::size_t connections_max = 256;

  // Binds `listen`, and runs the loop, which is its own from now on. Throws std::runtime_error when
  // it cannot; `setting` is the name under which the address was given.
  SideServer(Loop& loop, Handler& handler, const std::string& setting, const std::string& listen);
  ~SideServer();  // cuts off what is under way
  SideServer(const SideServer&) = delete;
  SideServer& operator=(const SideServer&) = delete;

  std::string address() const { return listener_->address(); }

 private:
  Loop& loop_;
  ServerOptions options_;
  ServerStats stats_;
  ConnectionSet connections_;
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
};

}  // namespace oncekey::http
