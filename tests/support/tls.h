// TLS for the tests' own sockets, either side, blocking.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/certificates.h"
#include "support/socket.h"

struct ssl_ctx_st;
struct ssl_session_st;

namespace oncekey::test {

using TlsSettings = std::shared_ptr<ssl_ctx_st>;

// `client_ca`: clients must show a certificate of this authority; "": they are not asked.
TlsSettings tls_server(const Issued& own, const std::string& client_ca = "");

struct TlsClientOptions {
  std::string ca;             // PEM
  std::optional<Issued> own;  // shown when asked
  int version_max = 0;        // TLS1_2_VERSION and so on; 0: any
  std::string protocols;      // as ALPN has them: "\x02h2"; "": none are offered
};
TlsSettings tls_client(const TlsClientOptions& options);

// Connects and shakes hands; empty when that fails, and `why` says why. The server's name is
// localhost.
Socket connect_tls(std::uint16_t port, const TlsSettings& settings, std::string* why = nullptr,
                   ssl_session_st* resumed = nullptr);

// The other side of one that was accepted; false when it fails.
bool accept_tls(Socket& socket, const TlsSettings& settings);

// Of a socket that has shaken hands.
std::string peer_common_name(const Socket& socket);
bool was_resumed(const Socket& socket);
std::string tls_version(const Socket& socket);
std::shared_ptr<ssl_session_st> session_of(const Socket& socket);

}  // namespace oncekey::test
