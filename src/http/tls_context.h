// What the connections of one side have in common: certificates, authorities, rules. They can be
// replaced while connections go on; those keep what they began with.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <string>

#include "http/tls_options.h"
#include "http/tls_session.h"
#include "oncekey/result.h"

namespace oncekey::http {

using TlsContext = std::shared_ptr<SSL_CTX>;

// For the port that clients connect to. Any thread.
class ServerTls {
 public:
  // The error says which file is wrong, and how.
  static Result<std::shared_ptr<ServerTls>, std::string> open(const ServerTlsOptions& options);

  // Reads the files again, or others: for connections from now on. Returns what is wrong, and
  // leaves everything as it was; "": nothing is. A certificate that is over is wrong here: it
  // cannot be what was meant.
  std::string reload();
  std::string reload(const ServerTlsOptions& options);
  // Whether the files have changed since they were read, and have then stayed the same between two
  // calls: a certificate and its key are rarely replaced in one step.
  bool files_changed();

  std::string describe() const;  // whose certificate, and until when
  bool expired() const;          // it, by now
  std::unique_ptr<TlsSession> accept(SocketState& socket) const;

 private:
  struct Loaded {
    TlsContext context;
    std::string stamp;  // of the files; changes when they do
  };
  ServerTls(ServerTlsOptions options, Loaded loaded);
  static Result<Loaded, std::string> load(const ServerTlsOptions& options);
  TlsContext context() const;

  mutable std::mutex mutex_;
  ServerTlsOptions options_;
  Loaded loaded_;
  std::string seen_;  // by the last files_changed()
};

// For connections that we make. Any thread.
class ClientTls {
 public:
  static Result<std::shared_ptr<const ClientTls>, std::string> open(
      const ClientTlsOptions& options);

  // `host`: of the URL, a name or an address, without brackets. With a ticket of an earlier
  // connection to the same host, the handshake is shorter.
  std::unique_ptr<TlsSession> connect(SocketState& socket, const std::string& host,
                                      SSL_SESSION* ticket) const;

 private:
  ClientTls(ClientTlsOptions options, TlsContext context);

  const ClientTlsOptions options_;
  const TlsContext context_;
};

// Trusts whom the system trusts. Throws std::runtime_error when that cannot be found out.
std::shared_ptr<const ClientTls> system_tls();

// "name:443" → "name", "[::1]:443" → "::1".
std::string host_without_port(std::string_view host_port);

}  // namespace oncekey::http
