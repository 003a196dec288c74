// One connection to a Redis server that never waits by itself: drive() moves any number of them on
// until a deadline.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "store/name_lookup.h"
#include "store/redis_reply.h"

namespace oncekey::store {

using RedisDeadline = std::chrono::steady_clock::time_point;

// Milliseconds of the clock that deadlines are measured by.
std::int64_t steady_ms(RedisDeadline at);

struct RedisGreeting {
  std::string user;
  std::string password;
  int database = 0;
  bool replica_is_fine = false;  // cluster: whoever holds the slot says so itself
  bool must_keep_keys = false;   // a server that may evict keys is not used
  bool wants_history = false;    // history() is asked for
};

class RedisConnection {
 public:
  // Begins to connect.
  RedisConnection(const Addresses& addresses, const RedisGreeting& greeting);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Nothing else is sent before the server has accepted the greeting, so what was asked of a
  // server that never said a word cannot be in doubt.
  bool is_ready() const { return phase_ == Phase::ready; }
  bool is_broken() const { return phase_ == Phase::broken; }
  const std::string& trouble() const { return trouble_; }  // broken only

  // The server closed it while nothing was under way, as at a restart.
  bool was_closed() const;

  // Only when ready: where commands are added as they go over the wire, and then how many replies
  // they will have.
  std::string& outgoing();
  void expect(std::size_t replies) { awaited_ += replies; }
  bool is_settled() const;  // ready and answered, or broken
  // In the order of the commands; fewer than commands when the connection broke or is still busy.
  std::vector<RedisReply> take_replies();

  // A server that did not answer in time will answer something else later: it must not be reused.
  void give_up(std::string trouble);

  // Names the history of the server's data. It stays the same while nothing that was acknowledged
  // can have been lost; a server that takes over or comes back has another. Empty: not told.
  const std::string& history() const { return history_; }

  // What the server's clock shows when ours shows `at`.
  TimestampMs server_time_at(RedisDeadline at) const { return clock_offset_ms_ + steady_ms(at); }
  void set_server_time(TimestampMs server_now);

  friend void drive(std::span<RedisConnection* const> connections, RedisDeadline deadline);

 private:
  enum class Phase { connecting, greeting, ready, broken };
  struct FreeReader {
    void operator()(redisReader* reader) const { redisReaderFree(reader); }
  };

  void connect_next();
  void finish_connecting();
  void greet();
  void check_greeting();
  std::string objection(RedisValue role, RedisValue memory) const;
  short wanted() const;
  void progress(short events);
  void write_some();
  void read_some();
  void lose(std::string why);

  RedisGreeting greeting_;
  Phase phase_ = Phase::connecting;
  std::vector<SocketAddress> addresses_;  // not tried yet, last first
  int fd_ = -1;
  std::string out_;
  std::size_t out_sent_ = 0;
  std::unique_ptr<redisReader, FreeReader> reader_;
  std::vector<RedisReply> replies_;
  std::size_t awaited_ = 0;
  TimestampMs clock_offset_ms_ = 0;
  std::string history_;
  std::string trouble_;
};

// Until every connection is settled, or the deadline.
void drive(std::span<RedisConnection* const> connections, RedisDeadline deadline);

}  // namespace oncekey::store
