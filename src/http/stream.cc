#include "http/stream.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "http/tls_session.h"
#include "oncekey/assert.h"

namespace oncekey::http {

namespace {

bool would_block(int code) {
  return code == EAGAIN || code == EWOULDBLOCK;
}

}  // namespace

IoError io_error_of(int code) {
  switch (code) {
    case ECONNRESET:
    case EPIPE:
      return IoError::reset;
    case ECONNREFUSED:
      return IoError::refused;
    case ETIMEDOUT:
      return IoError::timeout;
    default:
      return IoError::other;
  }
}

std::string_view to_string(IoError error) {
  switch (error) {
    case IoError::none:
      return "none";
    case IoError::closed:
      return "connection closed";
    case IoError::reset:
      return "connection reset";
    case IoError::timeout:
      return "timeout";
    case IoError::cancelled:
      return "cancelled";
    case IoError::refused:
      return "connection refused";
    case IoError::other:
      return "i/o error";
  }
  return "i/o error";
}

Stream::Stream(Loop& loop, int fd) : loop_(loop), socket_{fd} {
  loop_.add(socket_.fd, *this);
}

Stream::~Stream() {
  ONCEKEY_ASSERT(!read_ && !write_);
  if (tls_ && !aborting_) tls_->close();
  loop_.remove(socket_.fd, *this);
  ::close(socket_.fd);
}

Stream::WriteAwaiter::WriteAwaiter(Stream& stream, std::string_view first, std::string_view second,
                                   SteadyMs deadline)
    : stream_(stream),
      parts_{{const_cast<char*>(first.data()), first.size()},
             {const_cast<char*>(second.data()), second.size()}},
      deadline_(deadline) {}

void Stream::WriteAwaiter::consume(std::size_t bytes) {
  result_.bytes += bytes;
  for (iovec& part : parts_) {
    std::size_t step = std::min(bytes, part.iov_len);
    part.iov_base = static_cast<char*>(part.iov_base) + step;
    part.iov_len -= step;
    bytes -= step;
  }
}

Stream::WriteAwaiter Stream::connected(SteadyMs deadline) {
  WriteAwaiter awaiter(*this, {}, {}, deadline);
  awaiter.kind_ = WriteAwaiter::Kind::connect;
  socket_.writable = false;  // epoll reports the end of the connect
  return awaiter;
}

void Stream::ReadAwaiter::await_suspend(std::coroutine_handle<> handle) {
  ONCEKEY_ASSERT(!stream_.read_);
  handle_ = handle;
  stream_.read_ = this;
  stream_.arm_timer();
}

void Stream::WriteAwaiter::await_suspend(std::coroutine_handle<> handle) {
  ONCEKEY_ASSERT(!stream_.write_);
  handle_ = handle;
  stream_.write_ = this;
  stream_.arm_timer();
}

bool Stream::try_read(ReadAwaiter& read) {
  if (cancelled_) {
    read.result_.error = IoError::cancelled;
    return true;
  }
  if (tls_) return try_read_tls(read);
  while (socket_.readable) {
    std::span<char> room = read.into_.prepare();
    ssize_t got = ::recv(socket_.fd, room.data(), room.size(), 0);
    if (got > 0) {
      // A short read has emptied the socket: the next edge tells of more. Not so after the peer's
      // end, which brings no further edge.
      if (static_cast<std::size_t>(got) < room.size() && !socket_.peer_closed)
        socket_.readable = false;
      read.result_.bytes = static_cast<std::size_t>(got);
      read.into_.commit(read.result_.bytes);
      return true;
    }
    if (got < 0 && errno == EINTR) continue;
    const int code = errno;
    read.into_.release_if_empty();
    if (got == 0) {
      socket_.peer_closed = true;
      read.result_.error = IoError::closed;
      return true;
    }
    if (would_block(code)) {
      socket_.readable = false;
      return false;
    }
    read.result_.error = io_error_of(code);
    return true;
  }
  return false;
}

bool Stream::try_write(WriteAwaiter& write) {
  if (cancelled_) {
    write.result_.error = IoError::cancelled;
    return true;
  }
  if (tls_) return try_write_tls(write);
  if (write.kind_ == WriteAwaiter::Kind::connect) {
    if (!socket_.writable) return false;
    int code = 0;
    socklen_t size = sizeof code;
    ::getsockopt(socket_.fd, SOL_SOCKET, SO_ERROR, &code, &size);
    if (code != 0) write.result_.error = io_error_of(code);
    return true;
  }
  for (;;) {
    if (write.parts_[0].iov_len + write.parts_[1].iov_len == 0) return true;
    if (!socket_.writable) return false;
    msghdr message{};
    message.msg_iov = write.parts_;
    message.msg_iovlen = 2;
    ssize_t sent = ::sendmsg(socket_.fd, &message, MSG_NOSIGNAL);
    if (sent >= 0) {
      write.consume(static_cast<std::size_t>(sent));
      continue;
    }
    if (errno == EINTR) continue;
    if (would_block(errno)) {
      socket_.writable = false;
      return false;
    }
    write.result_.error = io_error_of(errno);
    return true;
  }
}

void Stream::arm_timer() {
  SteadyMs deadline = never;
  if (read_) deadline = std::min(deadline, read_->deadline_);
  if (write_) deadline = std::min(deadline, write_->deadline_);
  arm(loop_.timers(), deadline);
}

void Stream::finish_read(IoError error) {
  ReadAwaiter* read = std::exchange(read_, nullptr);
  if (error != IoError::none) read->result_.error = error;
  arm_timer();
  read->handle_.resume();  // may destroy this stream
}

void Stream::finish_write(IoError error) {
  WriteAwaiter* write = std::exchange(write_, nullptr);
  if (error != IoError::none) write->result_.error = error;
  arm_timer();
  write->handle_.resume();  // may destroy this stream
}

void Stream::on_events(std::uint32_t events) {
  if (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket_.peer_closed = true;
  if (events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) socket_.readable = true;
  if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) socket_.writable = true;
  if (tls_closing_) close_tls();
  // The process may have stood still: what is late is not sent any more, and its timer says so
  // next.
  const bool may_write = write_ && write_->deadline_ > loop_.now();
  bool write_done = may_write && try_write(*write_);
  bool read_done = read_ && try_read(*read_);
  if (write_done && read_done) {
    // Resuming the writer may destroy this stream only if nothing else is pending on it, and the
    // reader is: so it is still there afterwards.
    ReadAwaiter* read = std::exchange(read_, nullptr);
    auto reader = read->handle_;
    finish_write(IoError::none);
    reader.resume();
    return;
  }
  if (write_done) return finish_write(IoError::none);
  if (read_done) return finish_read(IoError::none);
}

void Stream::on_deadline() {
  SteadyMs now = loop_.now();
  bool write_late = write_ && write_->deadline_ <= now;
  if (read_ && read_->deadline_ <= now) {
    if (write_late) {
      ReadAwaiter* read = std::exchange(read_, nullptr);
      read->result_.error = IoError::timeout;
      auto reader = read->handle_;
      finish_write(IoError::timeout);
      reader.resume();
      return;
    }
    return finish_read(IoError::timeout);
  }
  if (write_late) return finish_write(IoError::timeout);
  arm_timer();
}

void Stream::cancel() {
  cancelled_ = true;
  if (!write_) {
    if (read_) finish_read(IoError::cancelled);
    return;
  }
  // The writer may cancel again: then the reader must not be found, and resumed, twice.
  std::coroutine_handle<> reader;
  if (ReadAwaiter* read = std::exchange(read_, nullptr)) {
    read->result_.error = IoError::cancelled;
    reader = read->handle_;
  }
  finish_write(IoError::cancelled);
  if (reader) reader.resume();
}

void Stream::shutdown_write() {
  if (tls_) return close_tls();
  ::shutdown(socket_.fd, SHUT_WR);
}

void Stream::reset_on_close() {
  aborting_ = true;
  linger abort{1, 0};
  ::setsockopt(socket_.fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
}

bool Stream::idle_usable() {
  if (socket_.peer_closed || cancelled_) return false;
  if (tls_) {
    socket_.readable = true;  // ask the kernel
    return tls_idle();
  }
  char byte;
  ssize_t got = ::recv(socket_.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && would_block(errno);
}

}  // namespace oncekey::http
