// One client's connection: reads heads, guards their framing, hands requests to the handler.
#pragma once

#include <optional>
#include <string>

#include "http/server.h"

namespace oncekey::http {

class ServerConnection {
 public:
  ServerConnection(Loop& loop, int fd, std::string peer, Handler& handler,
                   const ServerOptions* const& options, ServerStats& stats, const bool& draining);

  Task<void> serve();  // until the connection is over
  void close_if_idle();
  void abort() { stream_.cancel(); }

 private:
  enum class Next { request, over };

  Task<Next> shake_hands(Exchange& exchange);
  Task<Next> read_head(Exchange& exchange);
  Task<Next> finish_exchange(Exchange& exchange);
  Task<void> refuse(Exchange& exchange, Refusal refusal);
  Task<void> linger();

  std::string peer_;
  Stream stream_;
  ByteBuffer input_;
  HeadScanner scanner_;
  Handler& handler_;
  const ServerOptions* const& options_;  // the set's, as of now
  ServerStats& stats_;
  const bool& draining_;
  std::optional<PeerCertificate> certificate_;
  bool idle_ = false;
};

}  // namespace oncekey::http
