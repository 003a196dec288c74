// The socket as OpenSSL sees it. It asks the kernel only when the kernel has told that it is worth
// asking, and a peer that has left raises no signal.
#pragma once

#include <openssl/bio.h>

#include <cstdint>

#include "http/socket_state.h"

namespace oncekey::http {

struct TlsSocket {
  explicit TlsSocket(SocketState& watched) : state(watched) {}

  SocketState& state;
  std::uint64_t bytes_sent = 0;  // handed to the kernel
  int error = 0;                 // errno of what ended it; 0: nothing has
  bool ended = false;            // the peer's end of file
};

BIO* make_tls_socket_bio(TlsSocket& socket);  // `socket` outlives it

}  // namespace oncekey::http
