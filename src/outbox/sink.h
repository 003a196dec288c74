// Takes messages to one destination. On one loop: deliver() is awaited there and never blocks it.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "http/loop.h"
#include "http/task.h"
#include "oncekey/result.h"
#include "outbox/queue.h"
#include "outbox/sink_config.h"

namespace oncekey::outbox {

struct NotDelivered {
  std::string error;                        // for operators; never the payload or a secret
  bool hopeless = false;                    // the receiver has said that it will never take it
  std::chrono::milliseconds not_before{0};  // the receiver has said when to come back
};
using Delivery = std::variant<Delivered, NotDelivered>;

class Sink {
 public:
  virtual ~Sink() = default;

  // `claimed` stays where it is until this returns. It does, at the latest when its timeout is
  // over.
  virtual http::Task<Delivery> deliver(const Claimed& claimed) = 0;
  // Called when a round has begun its deliveries: hands over what was gathered, in one piece.
  virtual void flush() {}
  // Ends deliveries under way early, where that is possible.
  virtual void cancel() {}
};

using UnixSeconds = std::function<std::int64_t()>;

// The error says what is wrong with the configuration; a receiver that is down is no error.
Result<std::unique_ptr<Sink>, std::string> open_sink(http::Loop& loop, const SinkConfig& config,
                                                     const UnixSeconds& clock);

Result<std::unique_ptr<Sink>, std::string> open_http_sink(http::Loop& loop,
                                                          const SinkConfig& config,
                                                          const UnixSeconds& clock);
Result<std::unique_ptr<Sink>, std::string> open_kafka_sink(http::Loop& loop,
                                                           const SinkConfig& config);
Result<std::unique_ptr<Sink>, std::string> open_redis_sink(http::Loop& loop,
                                                           const SinkConfig& config);

}  // namespace oncekey::outbox
