#include "client/attempt.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>

#include "http/body_decoder.h"
#include "http/framing.h"
#include "http/head.h"

namespace oncekey::client {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

// Becomes readable when a stop is requested, so that poll() returns.
class StopSignal {
 public:
  explicit StopSignal(const std::stop_token& stop) : callback_(stop, Raise{event_.descriptor}) {}
  int descriptor() const { return event_.descriptor; }

 private:
  struct Event {
    const int descriptor = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    ~Event() {
      if (descriptor >= 0) ::close(descriptor);
    }
  };
  struct Raise {
    int descriptor;
    void operator()() const { ::eventfd_write(descriptor, 1); }
  };
  Event event_;  // before the callback, which must be gone when it closes
  std::stop_callback<Raise> callback_;
};

class Connection {
 public:
  Connection(SteadyTime deadline, const StopSignal& stop) : deadline_(deadline), stop_(stop) {}
  ~Connection() { close(); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  bool connect(const std::vector<http::SocketAddress>& addresses) {
    return std::any_of(addresses.begin(), addresses.end(),
                       [this](const http::SocketAddress& to) { return connect(to); });
  }

  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t count = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (count > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(count));
        sent_ = true;
      } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait(POLLOUT)) return false;
      } else if (errno != EINTR) {
        return fail(std::strerror(errno));
      }
    }
    return true;
  }

  // Appends what has arrived; false: nothing more comes. `ended()` tells an orderly end.
  bool receive(std::string& into) {
    char piece[16 << 10];
    for (;;) {
      const ssize_t count = ::recv(fd_, piece, sizeof piece, 0);
      if (count > 0) {
        into.append(piece, static_cast<std::size_t>(count));
        return true;
      }
      if (count == 0) {
        ended_ = true;
        return fail("the connection was closed before the answer was complete");
      }
      if (errno == EAGAIN || errno == EWOULDBLOCK) {
        if (!wait(POLLIN)) return false;
      } else if (errno != EINTR) {
        return fail(std::strerror(errno));
      }
    }
  }

  bool sent() const { return sent_; }
  bool ended() const { return ended_; }
  const std::string& error() const { return error_; }

 private:
  bool connect(const http::SocketAddress& to) {
    close();
    fd_ = ::socket(to.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) return fail(std::strerror(errno));
    const int on = 1;
    ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(fd_, to.get(), to.size) == 0) return true;
    if (errno != EINPROGRESS) return fail(to.to_string() + ": " + std::strerror(errno));
    if (!wait(POLLOUT)) return false;
    int problem = 0;
    socklen_t size = sizeof problem;
    ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &problem, &size);
    return problem == 0 || fail(to.to_string() + ": " + std::strerror(problem));
  }

  bool wait(short events) {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline_ - std::chrono::steady_clock::now())
              .count();
      if (left <= 0) return fail("no answer in time");
      pollfd watched[2] = {{fd_, events, 0}, {stop_.descriptor(), POLLIN, 0}};
      const int bounded =
          static_cast<int>(std::min<std::int64_t>(left, std::numeric_limits<int>::max()));
      const int count = ::poll(watched, 2, bounded);
      if (count < 0 && errno != EINTR) return fail(std::strerror(errno));
      if (count > 0 && watched[1].revents != 0) return fail("called off");
      if (count > 0) return true;
    }
  }

  bool fail(std::string reason) {
    error_ = std::move(reason);
    return false;
  }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

  const SteadyTime deadline_;
  const StopSignal& stop_;
  int fd_ = -1;
  bool sent_ = false;
  bool ended_ = false;
  std::string error_;
};

// Reads heads until one that is not interim. The error is "" when there is one.
std::string read_head(Connection& connection, std::string& input, http::ResponseHead& head) {
  const http::HeadLimits limits;
  do {
    http::HeadScanner scanner;
    for (;;) {
      const auto found = scanner.scan(input, limits.bytes);
      if (found == http::HeadScanner::Found::complete) break;
      if (found != http::HeadScanner::Found::incomplete) return "the answer's head is malformed";
      if (!connection.receive(input)) return connection.error();
    }
    const std::size_t begin = scanner.head_begin();
    const std::string text = input.substr(begin, scanner.head_end() - begin);
    if (auto refusal = head.parse(text, limits))
      return "the answer is malformed: " + refusal->reason;
    if (head.status == 101) return "the answer switches protocols unasked";
    input.erase(0, scanner.head_end());
  } while (head.status < 200);
  return "";
}

std::string read_body(Connection& connection, std::string& input, const http::Framing& framing,
                      std::size_t size_max, ClientAnswer& answer) {
  http::BodyDecoder decoder(framing);
  while (!decoder.done()) {
    const http::BodyDecoder::Step step = decoder.step(input);
    answer.body.append(step.data);
    input.erase(0, step.consumed);
    if (step.status == http::BodyDecoder::Status::bad)
      return "the answer is malformed: " + decoder.error();
    if (answer.body.size() > size_max) {
      answer.body.resize(size_max);
      answer.body_cut = true;
      return "";
    }
    if (step.status != http::BodyDecoder::Status::need_more || decoder.done()) continue;
    if (!connection.receive(input)) {
      const bool proper = connection.ended() && decoder.ends_at_close();
      return proper ? "" : connection.error();
    }
  }
  return "";
}

}  // namespace

AttemptOutcome perform(const Attempt& attempt, const std::stop_token& stop) {
  const auto addresses = http::resolve(attempt.url.host_port);
  if (!addresses) return NothingSent{addresses.error()};
  const StopSignal signal(stop);
  Connection connection(
      std::chrono::steady_clock::now() + std::chrono::milliseconds(attempt.timeout_ms), signal);
  if (!connection.connect(*addresses)) return NothingSent{connection.error()};
  // A server may refuse before it has read everything: half a request can have a whole answer.
  if (!connection.send(attempt.bytes) && !connection.sent()) return NothingSent{connection.error()};
  std::string input;
  http::ResponseHead head;
  std::string error = read_head(connection, input, head);
  if (!error.empty()) return NoAnswer{std::move(error)};
  const auto framing = http::response_framing(head, attempt.method);
  if (!framing) return NoAnswer{"the answer is malformed: " + framing.error().reason};
  ClientAnswer answer;
  answer.status = head.status;
  for (const http::Field& field : head.fields) {
    answer.headers.push_back({std::string(field.name), std::string(field.value)});
  }
  error = read_body(connection, input, *framing, attempt.answer_size_max, answer);
  if (!error.empty()) return NoAnswer{std::move(error)};
  return answer;
}

}  // namespace oncekey::client
