// TLS on one connection's socket, without waiting: every call does what can be done now. The error
// queue of the thread belongs to the call.
#pragma once

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "http/tls_socket_bio.h"

namespace oncekey::http {

struct FreeSsl {
  void operator()(SSL* ssl) const { SSL_free(ssl); }
  void operator()(SSL_SESSION* session) const { SSL_SESSION_free(session); }
};
using TlsTicket = std::unique_ptr<SSL_SESSION, FreeSsl>;  // for a handshake that is soon done

class TlsSession {
 public:
  // `ssl` knows its side, and whom it expects.
  TlsSession(SocketState& socket, std::unique_ptr<SSL, FreeSsl> ssl);
  ~TlsSession();
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  enum class Progress {
    done,
    blocked,  // the socket's next event may help
    closed,   // the peer has said that no more comes
    failed,   // the connection is of no further use; an end without close_notify is this, too
  };
  struct Step {
    Progress progress;
    std::size_t bytes = 0;
  };

  Progress handshake();
  Step read(std::span<char> into);
  // As much as one record holds. When it was blocked, the next call must begin with the same bytes.
  Step write(std::span<const char> from);
  // Tells the peer that no more comes; false: the socket is full, try again.
  bool close();

  // Nothing to read, and not closed, as far as the socket has told. Takes in the tickets that
  // servers send after the handshake: they make a socket readable that has nothing to say.
  bool idle();

  // Bytes on the wire, those of handshakes included.
  std::uint64_t bytes_sent() const { return socket_.bytes_sent; }
  int socket_error() const { return socket_.error; }   // errno; 0: the socket was not what failed
  const std::string& error() const { return error_; }  // of what failed, for people
  bool plain_http() const { return plain_http_; }      // the handshake failed at somebody's "GET /"
  bool resumed() const { return SSL_session_reused(ssl_.get()) == 1; }
  SSL* ssl() { return ssl_.get(); }

  // The newest that the server gave; null: none since the last call.
  TlsTicket take_ticket() { return std::move(ticket_); }
  static void keep_tickets(SSL_CTX& context);  // of clients

 private:
  static int on_ticket(SSL* ssl, SSL_SESSION* ticket);
  Progress judge(int result);
  std::string failure(int code) const;

  TlsSocket socket_;
  std::unique_ptr<SSL, FreeSsl> ssl_;
  TlsTicket ticket_;
  std::string error_;
  bool failed_ = false;
  bool plain_http_ = false;
};

}  // namespace oncekey::http
