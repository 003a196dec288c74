#include "http/upstream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>

#include "http/tls_context.h"

namespace oncekey::http {

namespace {

constexpr auto refresh_every = std::chrono::seconds(10);
constexpr SteadyMs asked_after_ms = 5;

bool is_literal(const std::string& host_port, const SocketAddress& address) {
  return host_port == address.to_string();
}

}  // namespace

UpstreamAddress::UpstreamAddress(std::string host_port, Unresolved unresolved)
    : host_port_(std::move(host_port)) {
  auto found = resolve(host_port_);
  if (found.ok()) {
    addresses_ = *found;
  } else if (unresolved == Unresolved::error) {
    throw std::runtime_error(found.error());
  }
  bool fixed = !addresses_.empty() && is_literal(host_port_, addresses_.front());
  if (!fixed) refresher_ = std::thread([this] { refresh(); });
}

UpstreamAddress::~UpstreamAddress() {
  stop_refreshing();
}

void UpstreamAddress::stop_refreshing() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_signal_.notify_all();
  if (refresher_.joinable()) refresher_.join();
}

std::vector<SocketAddress> UpstreamAddress::current() const {
  std::lock_guard lock(mutex_);
  return addresses_;
}

void UpstreamAddress::refresh() {
  std::unique_lock lock(mutex_);
  while (!stop_signal_.wait_for(lock, refresh_every, [this] { return stopping_; })) {
    lock.unlock();
    auto found = resolve(host_port_);
    lock.lock();
    if (found.ok()) addresses_ = *found;  // otherwise the old ones may still be good
  }
}

UpstreamPool::UpstreamPool(Loop& loop, const UpstreamAddress& address, UpstreamOptions options)
    : loop_(loop), address_(address), options_(options) {}

UpstreamPool::Lease UpstreamPool::acquire_idle() {
  while (!idle_.empty()) {
    std::unique_ptr<UpstreamConnection> connection = std::move(idle_.back());
    idle_.pop_back();
    if (loop_.now() - connection->idle_since >= options_.idle_ms) {
      idle_.clear();  // the others have been idle for longer still
      break;
    }
    // What the upstream closes as we send is ambiguous; this keeps that window small. Epoll has
    // told of everything up to this round; the socket itself is asked when it was idle for longer
    // than a busy connection ever is.
    Stream& stream = connection->stream;
    bool busy = loop_.now() - connection->idle_since < asked_after_ms;
    bool usable = busy ? stream.idle_as_told() : stream.idle_usable();
    if (connection->input.empty() && usable) {
      connection->reused = true;
      return lease(std::move(connection));
    }
  }
  return Lease(nullptr, Drop{this});
}

Task<UpstreamPool::Acquired> UpstreamPool::acquire() {
  Lease idle = acquire_idle();
  if (idle) co_return Acquired(std::move(idle));
  Acquired fresh = co_await connect();
  co_return fresh;
}

Task<UpstreamPool::Acquired> UpstreamPool::connect() {
  std::vector<SocketAddress> addresses = address_.current();
  std::string why = "no address";
  for (const SocketAddress& address : addresses) {
    std::unique_ptr<UpstreamConnection> connection = co_await connect_to(address, why);
    if (connection) co_return Acquired(lease(std::move(connection)));
  }
  co_return Acquired("cannot connect to the upstream: " + why);
}

Task<std::unique_ptr<UpstreamConnection>> UpstreamPool::connect_to(const SocketAddress& address,
                                                                   std::string& why) {
  int fd = ::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    why = std::strerror(errno);
    co_return nullptr;
  }
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  int code = ::connect(fd, address.get(), address.size) == 0 ? 0 : errno;
  if (code != 0 && code != EINPROGRESS) {
    why = std::strerror(code);
    ::close(fd);
    co_return nullptr;
  }
  auto connection = std::make_unique<UpstreamConnection>(loop_, fd);
  Stream& stream = connection->stream;
  SteadyMs deadline = loop_.now() + options_.connect_ms;
  if (code == EINPROGRESS) {
    IoResult connected = co_await stream.connected(deadline);
    if (!connected.ok()) {
      why = to_string(connected.error);
      co_return nullptr;
    }
  }
  if (!options_.tls) co_return connection;
  stream.start_tls(options_.tls->connect(stream.socket(), options_.tls_host, ticket_.get()));
  IoResult agreed = co_await stream.handshake(deadline);
  if (agreed.ok()) co_return connection;
  why = "the TLS handshake failed: ";
  bool explained = agreed.error != IoError::timeout && agreed.error != IoError::cancelled;
  if (explained) {
    why += stream.tls()->error();
  } else {
    why += to_string(agreed.error);
  }
  ticket_.reset();
  co_return nullptr;
}

// Servers send tickets when they like, often only with their first answer.
void UpstreamPool::keep_ticket(Stream& stream) {
  TlsTicket ticket = stream.tls()->take_ticket();
  if (ticket) ticket_ = std::shared_ptr<SSL_SESSION>(ticket.release(), SSL_SESSION_free);
}

UpstreamPool::Lease UpstreamPool::lease(std::unique_ptr<UpstreamConnection> connection) {
  connection->active_index = active_.size();
  active_.push_back(connection.get());
  return Lease(connection.release(), Drop{this});
}

void UpstreamPool::forget_active(UpstreamConnection& connection) {
  active_.back()->active_index = connection.active_index;
  active_[connection.active_index] = active_.back();
  active_.pop_back();
}

void UpstreamPool::Drop::operator()(UpstreamConnection* connection) const {
  pool->forget_active(*connection);
  delete connection;
}

void UpstreamPool::release(Lease lease) {
  if (lease->stream.tls()) keep_ticket(lease->stream);
  if (idle_.size() >= options_.idle_max || !lease->input.empty() || lease->stream.peer_closed()) {
    return;
  }
  std::unique_ptr<UpstreamConnection> connection(lease.release());
  forget_active(*connection);
  connection->idle_since = loop_.now();
  connection->input.release_if_empty();
  idle_.push_back(std::move(connection));
}

void UpstreamPool::cancel_active() {
  std::vector<UpstreamConnection*> connections = active_;
  for (UpstreamConnection* connection : connections) {
    // Ending one may drop others: only those still there may be touched.
    if (std::find(active_.begin(), active_.end(), connection) != active_.end()) {
      connection->stream.cancel();
    }
  }
}

Task<UpstreamConnection::HeadResult> UpstreamConnection::read_head(std::string_view request_method,
                                                                   const HeadLimits& limits,
                                                                   SteadyMs deadline) {
  HeadResult result;
  HeadScanner scanner;
  for (;;) {
    HeadScanner::Found found = scanner.scan(input.data(), limits.bytes);
    if (found == HeadScanner::Found::complete) break;
    if (found == HeadScanner::Found::bad_line_end || found == HeadScanner::Found::too_large) {
      result.error = "the upstream's answer has a malformed or too large head";
      co_return result;
    }
    IoResult got = co_await stream.read(input, deadline);
    if (!got.ok()) {
      result.timed_out = got.error == IoError::timeout;
      result.error = "no answer from the upstream: ";
      result.error += to_string(got.error);
      co_return result;
    }
  }
  std::size_t begin = scanner.head_begin();
  std::optional<Refusal> refusal =
      head.parse(input.data().substr(begin, scanner.head_end() - begin), limits);
  input.consume(scanner.head_end());
  if (!refusal) {
    Result<Framing, Refusal> read = response_framing(head, request_method);
    if (read.ok()) {
      framing = *read;
      body.start(framing);
      result.ok = true;
      co_return result;
    }
    refusal = read.error();
  }
  result.error = "the upstream's answer is ambiguous: " + refusal->reason;
  co_return result;
}

bool UpstreamConnection::reusable() const {
  return body.done() && framing.kind != Framing::Kind::until_close &&
         (head.minor_version == 1 || head.connection_has("keep-alive")) &&
         !head.connection_has("close");
}

}  // namespace oncekey::http
