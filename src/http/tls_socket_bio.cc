#include "http/tls_socket_bio.h"

#include <sys/socket.h>

#include <cerrno>
#include <memory>

#include "oncekey/assert.h"

namespace oncekey::http {

namespace {

TlsSocket& socket_of(BIO* bio) {
  return *static_cast<TlsSocket*>(BIO_get_data(bio));
}

bool would_block(int code) {
  return code == EAGAIN || code == EWOULDBLOCK;
}

int read_socket(BIO* bio, char* into, int size) {
  TlsSocket& socket = socket_of(bio);
  BIO_clear_retry_flags(bio);
  while (socket.state.readable) {
    const ssize_t got = ::recv(socket.state.fd, into, static_cast<std::size_t>(size), 0);
    if (got > 0) {
      // As in Stream: a short read has emptied the socket, unless the peer's end is in it.
      if (got < size && !socket.state.peer_closed) socket.state.readable = false;
      return static_cast<int>(got);
    }
    if (got == 0) {
      socket.state.peer_closed = socket.ended = true;
      return 0;
    }
    if (errno == EINTR) continue;
    if (!would_block(errno)) {
      socket.error = errno;
      return -1;
    }
    socket.state.readable = false;
  }
  BIO_set_retry_read(bio);
  return -1;
}

int write_socket(BIO* bio, const char* from, int size) {
  TlsSocket& socket = socket_of(bio);
  BIO_clear_retry_flags(bio);
  while (socket.state.writable) {
    const ssize_t sent =
        ::send(socket.state.fd, from, static_cast<std::size_t>(size), MSG_NOSIGNAL);
    if (sent >= 0) {
      socket.bytes_sent += static_cast<std::uint64_t>(sent);
      return static_cast<int>(sent);
    }
    if (errno == EINTR) continue;
    if (!would_block(errno)) {
      socket.error = errno;
      return -1;
    }
    socket.state.writable = false;
  }
  BIO_set_retry_write(bio);
  return -1;
}

long control_socket(BIO* bio, int command, long, void*) {
  switch (command) {
    case BIO_CTRL_FLUSH:
      return 1;  // nothing is kept back
    case BIO_CTRL_EOF:
      return socket_of(bio).ended ? 1 : 0;
    default:
      return 0;
  }
}

struct FreeMethod {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
};

BIO_METHOD* socket_method() {
  static const std::unique_ptr<BIO_METHOD, FreeMethod> method = [] {
    BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    ONCEKEY_ASSERT(made);
    BIO_meth_set_read(made, read_socket);
    BIO_meth_set_write(made, write_socket);
    BIO_meth_set_ctrl(made, control_socket);
    return std::unique_ptr<BIO_METHOD, FreeMethod>(made);
  }();
  return method.get();
}

}  // namespace

BIO* make_tls_socket_bio(TlsSocket& socket) {
  BIO* bio = BIO_new(socket_method());
  ONCEKEY_ASSERT(bio);
  BIO_set_data(bio, &socket);
  BIO_set_init(bio, 1);
  return bio;
}

}  // namespace oncekey::http
