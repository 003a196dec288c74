#include "store/redis_connection.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "oncekey/assert.h"
#include "store/redis_command.h"
#include "store/redis_error.h"

namespace oncekey::store {
namespace {

constexpr std::size_t read_size = 64 * 1024;

std::string error_text(int error) {
  return std::string(::strerror(error));
}

}  // namespace

std::int64_t steady_ms(RedisDeadline at) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(at.time_since_epoch()).count();
}

RedisConnection::RedisConnection(const Addresses& addresses, const RedisGreeting& greeting)
    : greeting_(greeting), reader_(redisReaderCreate()) {
  if (addresses.ok()) {
    addresses_.assign(addresses->rbegin(), addresses->rend());
    connect_next();
  } else {
    give_up(addresses.error());
  }
}

RedisConnection::~RedisConnection() {
  if (fd_ >= 0) ::close(fd_);
}

void RedisConnection::connect_next() {
  while (!addresses_.empty()) {
    const SocketAddress next = addresses_.back();
    addresses_.pop_back();
    if (fd_ >= 0) ::close(fd_);
    fd_ = ::socket(next.address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd_ < 0) return give_up(error_text(errno));
    if (next.address.ss_family != AF_UNIX) {
      const int on = 1;
      ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      ::setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    }
    const auto* address = reinterpret_cast<const sockaddr*>(&next.address);
    if (::connect(fd_, address, next.size) == 0) return greet();
    if (errno == EINPROGRESS) return;
    trouble_ = error_text(errno);
  }
  give_up(trouble_);
}

void RedisConnection::finish_connecting() {
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return greet();
  trouble_ = error_text(error);
  connect_next();
}

void RedisConnection::greet() {
  phase_ = Phase::greeting;
  if (!greeting_.password.empty()) {
    if (greeting_.user.empty()) {
      append_command(out_, {"AUTH", greeting_.password});
    } else {
      append_command(out_, {"AUTH", greeting_.user, greeting_.password});
    }
    ++awaited_;
  }
  if (greeting_.database != 0) {
    append_command(out_, {"SELECT", std::to_string(greeting_.database)});
    ++awaited_;
  }
  append_command(out_, {"TIME"});
  append_command(out_, {"ROLE"});
  awaited_ += 2;
  if (greeting_.must_keep_keys) {
    append_command(out_, {"INFO", "memory"});
    ++awaited_;
  }
  if (greeting_.wants_history) {
    append_command(out_, {"INFO", "replication"});
    ++awaited_;
  }
  write_some();
}

void RedisConnection::check_greeting() {
  if (replies_.size() < awaited_) return;
  std::size_t role_at = replies_.size() - 1;
  RedisValue memory(nullptr);
  if (greeting_.wants_history) {
    history_ = redis_info_field(replies_[role_at--].value().text(), "master_replid");
  }
  if (greeting_.must_keep_keys) memory = replies_[role_at--].value();
  const RedisValue role = replies_[role_at].value();
  const RedisValue time = replies_[role_at - 1].value();
  for (std::size_t i = 0; i < role_at; ++i) {
    const std::string_view text = replies_[i].value().text();
    if (!replies_[i].value().is_error()) continue;
    return give_up(lacks_a_right(text) ? with_what_a_user_needs(text) : std::string(text));
  }
  if (std::string trouble = objection(role, memory); !trouble.empty()) {
    return give_up(std::move(trouble));
  }
  std::int64_t seconds = 0;
  std::int64_t microseconds = 0;
  const std::string_view whole = time[0].text();
  const std::string_view part = time[1].text();
  std::from_chars(whole.data(), whole.data() + whole.size(), seconds);
  std::from_chars(part.data(), part.data() + part.size(), microseconds);
  if (seconds == 0) return give_up("it does not tell the time");
  set_server_time(seconds * 1000 + microseconds / 1000);
  replies_.clear();
  awaited_ = 0;
  phase_ = Phase::ready;
}

// Why this server is not the one to use. One that keeps an answer to itself (ACL) is given the
// benefit of the doubt: a replica will say READONLY in time.
std::string RedisConnection::objection(RedisValue role, RedisValue memory) const {
  if (!greeting_.replica_is_fine && role[0].text() == "slave") {
    return "READONLY it is a replica of " + std::string(role[1].text()) + ":" +
           std::to_string(role[2].integer());
  }
  const std::string policy = redis_info_field(memory.text(), "maxmemory_policy");
  if (!policy.empty() && policy != redis_no_eviction) {
    return "its maxmemory-policy is " + policy +
           ", with which it may forget keys: set noeviction there";
  }
  return "";
}

void RedisConnection::set_server_time(TimestampMs server_now) {
  // Both are rounded down, so their difference may be too large by up to a millisecond; and what is
  // believed must not be ahead.
  clock_offset_ms_ = server_now - steady_ms(std::chrono::steady_clock::now()) - 1;
}

void RedisConnection::give_up(std::string trouble) {
  phase_ = Phase::broken;
  trouble_ = std::move(trouble);
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

bool RedisConnection::was_closed() const {
  char byte = 0;
  const ssize_t got = ::recv(fd_, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

std::string& RedisConnection::outgoing() {
  ONCEKEY_ASSERT(is_ready());
  return out_;
}

bool RedisConnection::is_settled() const {
  return is_broken() || (is_ready() && replies_.size() >= awaited_);
}

std::vector<RedisReply> RedisConnection::take_replies() {
  std::vector<RedisReply> taken = std::move(replies_);
  replies_.clear();
  awaited_ -= taken.size();
  return taken;
}

short RedisConnection::wanted() const {
  if (phase_ == Phase::connecting) return POLLOUT;
  return static_cast<short>(out_sent_ < out_.size() ? POLLIN | POLLOUT : POLLIN);
}

void RedisConnection::progress(short events) {
  if (phase_ == Phase::connecting) return finish_connecting();
  if ((events & POLLOUT) != 0) write_some();
  if (!is_broken() && (events & (POLLIN | POLLHUP | POLLERR)) != 0) read_some();
}

void RedisConnection::write_some() {
  while (out_sent_ < out_.size()) {
    const ssize_t sent =
        ::send(fd_, out_.data() + out_sent_, out_.size() - out_sent_, MSG_NOSIGNAL);
    if (sent > 0) {
      out_sent_ += static_cast<std::size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      return;
    } else if (errno != EINTR) {
      const std::string why = error_text(errno);
      read_some();  // it may have said why before it left
      if (!is_broken()) lose("the connection broke: " + why);
      return;
    }
  }
  out_.clear();
  out_sent_ = 0;
}

void RedisConnection::read_some() {
  static thread_local std::vector<char> buffer(read_size);
  const ssize_t got = ::recv(fd_, buffer.data(), buffer.size(), 0);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) return;
    return lose("the connection broke: " + error_text(errno));
  }
  if (got == 0) return lose("it closed the connection");
  redisReaderFeed(reader_.get(), buffer.data(), static_cast<std::size_t>(got));
  for (;;) {
    void* reply = nullptr;
    if (redisReaderGetReply(reader_.get(), &reply) != REDIS_OK) {
      return give_up("it does not speak the Redis protocol: " + std::string(reader_->errstr));
    }
    if (reply == nullptr) break;
    replies_.emplace_back(reply);
  }
  if (phase_ == Phase::greeting) return check_greeting();
  if (replies_.size() > awaited_) give_up("it sent a reply that nobody asked for");
}

// A server that turns a connection away says why before it closes it.
void RedisConnection::lose(std::string why) {
  if (phase_ == Phase::greeting && !replies_.empty() && replies_.back().value().is_error()) {
    why = replies_.back().value().text();
  }
  give_up(std::move(why));
}

void drive(std::span<RedisConnection* const> connections, RedisDeadline deadline) {
  std::vector<pollfd> polled;
  std::vector<RedisConnection*> waiting;
  for (RedisConnection* connection : connections) {
    if (connection->is_ready()) connection->write_some();
  }
  for (;;) {
    polled.clear();
    waiting.clear();
    for (RedisConnection* connection : connections) {
      if (connection->is_settled()) continue;
      waiting.push_back(connection);
      polled.push_back({connection->fd_, connection->wanted(), 0});
    }
    if (waiting.empty()) return;
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    ::poll(polled.data(), polled.size(), static_cast<int>(left.count()));
    for (std::size_t i = 0; i < waiting.size(); ++i) {
      if (polled[i].revents != 0) waiting[i]->progress(polled[i].revents);
    }
  }
}

}  // namespace oncekey::store
