// The part of Stream that speaks TLS.
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "http/stream.h"
#include "http/tls_session.h"
#include "oncekey/assert.h"

namespace oncekey::http {

namespace {

using Progress = TlsSession::Progress;

// The most that a record holds; what is gathered fits into one.
constexpr std::size_t gathered_max = 16 << 10;

IoError failure_of(const TlsSession& session) {
  return session.socket_error() == 0 ? IoError::reset : io_error_of(session.socket_error());
}

// The next bytes to send, in one piece: a head and its body leave in one record, where they fit.
// What is gathered again after a blocked write begins with the same bytes.
std::span<const char> next_bytes(const iovec (&parts)[2], std::array<char, gathered_max>& room) {
  const iovec& first = parts[0];
  const iovec& second = parts[1];
  if (first.iov_len == 0) return {static_cast<const char*>(second.iov_base), second.iov_len};
  if (second.iov_len == 0 || first.iov_len >= room.size()) {
    return {static_cast<const char*>(first.iov_base), first.iov_len};
  }
  const std::size_t rest = std::min(second.iov_len, room.size() - first.iov_len);
  std::memcpy(room.data(), first.iov_base, first.iov_len);
  std::memcpy(room.data() + first.iov_len, second.iov_base, rest);
  return {room.data(), first.iov_len + rest};
}

}  // namespace

void Stream::start_tls(std::unique_ptr<TlsSession> session) {
  ONCEKEY_ASSERT(!tls_ && !read_ && !write_);
  tls_ = std::move(session);
}

void Stream::drop_tls() {
  ONCEKEY_ASSERT(!read_ && !write_);
  tls_.reset();
}

Stream::WriteAwaiter Stream::handshake(SteadyMs deadline) {
  ONCEKEY_ASSERT(tls_);
  WriteAwaiter awaiter(*this, {}, {}, deadline);
  awaiter.kind_ = WriteAwaiter::Kind::handshake;
  return awaiter;
}

bool Stream::try_read_tls(ReadAwaiter& read) {
  const TlsSession::Step step = tls_->read(read.into_.prepare());
  if (step.progress == Progress::done) {
    read.result_.bytes = step.bytes;
    read.into_.commit(step.bytes);
    return true;
  }
  read.into_.release_if_empty();
  switch (step.progress) {
    case Progress::done:
      break;
    case Progress::blocked:
      return false;
    case Progress::closed:
      read.result_.error = IoError::closed;
      return true;
    case Progress::failed:
      read.result_.error = failure_of(*tls_);
      return true;
  }
  return true;
}

bool Stream::try_write_tls(WriteAwaiter& write) {
  if (write.kind_ == WriteAwaiter::Kind::handshake) {
    const Progress progress = tls_->handshake();
    if (progress == Progress::failed) write.result_.error = failure_of(*tls_);
    return progress != Progress::blocked;
  }
  thread_local std::array<char, gathered_max> room;
  while (write.parts_[0].iov_len + write.parts_[1].iov_len > 0) {
    const std::uint64_t sent_before = tls_->bytes_sent();
    const TlsSession::Step step = tls_->write(next_bytes(write.parts_, room));
    if (step.progress == Progress::done) {
      write.consume(step.bytes);
      continue;
    }
    // Part of a record may be on its way: it can no longer be said that nothing was sent.
    if (tls_->bytes_sent() != sent_before) {
      write.result_.bytes = std::max<std::size_t>(write.result_.bytes, 1);
    }
    if (step.progress == Progress::blocked) return false;
    write.result_.error = failure_of(*tls_);
    return true;
  }
  return true;
}

bool Stream::tls_idle() {
  return !socket_.peer_closed && !cancelled_ && tls_->idle();
}

void Stream::close_tls() {
  tls_closing_ = !tls_->close();
  if (!tls_closing_) ::shutdown(socket_.fd, SHUT_WR);
}

}  // namespace oncekey::http
