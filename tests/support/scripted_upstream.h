// An HTTP/1.1 service that does as each request's X-Test-Behaviour says and enters everything that
// reaches it in an audit before it answers. One thread per connection.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "support/audit.h"
#include "support/behaviour.h"
#include "support/socket.h"
#include "support/tls.h"

namespace oncekey::test {

class ScriptedUpstream {
 public:
  // `audit_path`: where the audit is also kept on disk; "": only in memory.
  explicit ScriptedUpstream(const std::string& audit_path = "");
  explicit ScriptedUpstream(TlsSettings tls);
  ~ScriptedUpstream();

  std::uint16_t port() const { return port_; }
  std::string url() const {
    return (tls_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_);
  }
  Audit& audit() { return audit_; }

  void open_gate(const std::string& name);  // requests with hold=name go on, now and later
  void reset_next_connections(int count) { connections_to_reset_ = count; }
  void close_connections();  // all that are open now, idle ones included

  // Requests whose head came but whose body did not: proof that streaming was cut short.
  std::size_t incomplete() const { return incomplete_; }
  std::size_t connections_accepted() const { return accepted_; }
  std::size_t connections_resumed() const { return resumed_; }  // by an earlier TLS session
  // With TLS: connections end without close_notify from now on.
  void end_without_notice() { without_notice_ = true; }

 private:
  struct Exchange {
    Socket& socket;
    const Behaviour& behaviour;
    const Arrival& arrival;
  };

  ScriptedUpstream(const std::string& audit_path, TlsSettings tls);
  void accept_all();
  void serve(Socket socket);
  bool serve_one(Socket& socket, std::string& unread);
  bool read_request(Socket& socket, std::string& unread, MessageReader& reader);
  bool answer(const Exchange& exchange);
  bool send_answer(const Exchange& exchange, const std::string& body);
  std::string head_of(const Exchange& exchange, std::size_t body_size) const;
  void echo_bytes(Socket& socket);
  void wait_at_gate(const std::string& name);

  const TlsSettings tls_;  // null: plain
  std::uint16_t port_ = 0;
  Socket listener_;
  Audit audit_;
  std::atomic<int> connections_to_reset_ = 0;
  std::atomic<std::size_t> incomplete_ = 0;
  std::atomic<std::size_t> accepted_ = 0;
  std::atomic<std::size_t> resumed_ = 0;
  std::atomic<bool> without_notice_ = false;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> open_gates_;
  std::set<int> open_descriptors_;
  std::size_t serving_ = 0;
  bool stopping_ = false;
  std::thread acceptor_;
};

}  // namespace oncekey::test
