// A non-blocking socket, and what the kernel has last told of it.
#pragma once

namespace oncekey::http {

struct SocketState {
  int fd = -1;
  bool readable = true;  // until the kernel says otherwise
  bool writable = true;
  bool peer_closed = false;
};

}  // namespace oncekey::http
