// A non-blocking TCP socket with awaitable reads and writes. At most one read and one write are
// under way at a time. The operation itself runs when the socket is ready, before the coroutine is
// resumed, so a wake-up always brings a result and no system call is made in vain.
#pragma once

#include <sys/uio.h>

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "http/byte_buffer.h"
#include "http/loop.h"
#include "http/socket_state.h"

namespace oncekey::http {

class TlsSession;

enum class IoError : std::uint8_t { none, closed, reset, timeout, cancelled, refused, other };
std::string_view to_string(IoError error);
IoError io_error_of(int code);  // errno

struct IoResult {
  // Read, or handed to the kernel before the error. Of a TLS record that left in part, at least 1.
  std::size_t bytes = 0;
  IoError error = IoError::none;

  bool ok() const { return error == IoError::none; }
};

class Stream final : private Loop::EventTarget, private Timer {
 public:
  Stream(Loop& loop, int fd);  // takes the descriptor; it must be non-blocking
  ~Stream() override;
  Stream(const Stream&) = delete;

  class ReadAwaiter;
  class WriteAwaiter;

  // Reads at least one byte, and adds it to the buffer. `closed`: the peer will send no more. An
  // empty buffer has no memory while it waits: what is read next goes where something was read
  // just now, which is still in the processor's cache.
  ReadAwaiter read(ByteBuffer& into, SteadyMs deadline);
  // Writes all of it, or says how much had left. Once begun, no byte leaves after the deadline.
  WriteAwaiter write(std::string_view first, std::string_view second, SteadyMs deadline);
  // Waits until a connect() under way has succeeded or failed.
  WriteAwaiter connected(SteadyMs deadline);

  // From now on everything goes through TLS, which begins with handshake(). An error of that is
  // explained by tls()->error(). drop_tls(): for words to a peer that does not speak it.
  void start_tls(std::unique_ptr<TlsSession> session);
  WriteAwaiter handshake(SteadyMs deadline);
  void drop_tls();
  TlsSession* tls() { return tls_.get(); }   // null: plain
  SocketState& socket() { return socket_; }  // for the session to be started

  void cancel();  // pending operations, and all later ones, end as `cancelled`
  void shutdown_write();
  void reset_on_close();  // the peer sees an abort instead of an orderly end

  // Whether an idle connection can still be used: nothing to read, and the peer has not closed.
  bool idle_usable();
  // The same as far as epoll has told, without asking the kernel.
  bool idle_as_told() {
    if (tls_) return tls_idle();
    return !socket_.readable && !socket_.peer_closed && !cancelled_;
  }
  bool peer_closed() const { return socket_.peer_closed; }  // as far as epoll has told
  bool read_pending() const { return read_ != nullptr; }
  Loop& loop() { return loop_; }

 private:
  void on_events(std::uint32_t events) override;
  void on_deadline() override;
  void arm_timer();
  bool try_read(ReadAwaiter& read);
  bool try_write(WriteAwaiter& write);
  bool try_read_tls(ReadAwaiter& read);
  bool try_write_tls(WriteAwaiter& write);
  bool tls_idle();
  void close_tls();
  void finish_read(IoError error);
  void finish_write(IoError error);

  Loop& loop_;
  SocketState socket_;
  bool cancelled_ = false;
  bool aborting_ = false;     // the peer must not take it for an orderly end
  bool tls_closing_ = false;  // close_notify is still to be sent
  std::unique_ptr<TlsSession> tls_;
  ReadAwaiter* read_ = nullptr;
  WriteAwaiter* write_ = nullptr;
};

class Stream::ReadAwaiter {
 public:
  bool await_ready() { return stream_.try_read(*this); }
  void await_suspend(std::coroutine_handle<> handle);
  IoResult await_resume() const { return result_; }

 private:
  friend class Stream;
  ReadAwaiter(Stream& stream, ByteBuffer& into, SteadyMs deadline)
      : stream_(stream), into_(into), deadline_(deadline) {}

  Stream& stream_;
  ByteBuffer& into_;
  SteadyMs deadline_;
  IoResult result_;
  std::coroutine_handle<> handle_;
};

class Stream::WriteAwaiter {
 public:
  bool await_ready() { return stream_.try_write(*this); }
  void await_suspend(std::coroutine_handle<> handle);
  IoResult await_resume() const { return result_; }

 private:
  friend class Stream;
  WriteAwaiter(Stream& stream, std::string_view first, std::string_view second, SteadyMs deadline);

  Stream& stream_;
  enum class Kind : std::uint8_t { bytes, connect, handshake };

  void consume(std::size_t bytes);

  iovec parts_[2];
  Kind kind_ = Kind::bytes;
  SteadyMs deadline_;
  IoResult result_;
  std::coroutine_handle<> handle_;
};

inline Stream::ReadAwaiter Stream::read(ByteBuffer& into, SteadyMs deadline) {
  return ReadAwaiter(*this, into, deadline);
}
inline Stream::WriteAwaiter Stream::write(std::string_view first, std::string_view second,
                                          SteadyMs deadline) {
  return WriteAwaiter(*this, first, second, deadline);
}

}  // namespace oncekey::http
