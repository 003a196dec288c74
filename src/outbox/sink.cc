#include "outbox/sink.h"

namespace oncekey::outbox {

Result<std::unique_ptr<Sink>, std::string> open_sink(http::Loop& loop, const SinkConfig& config,
                                                     const UnixSeconds& clock) {
  switch (config.kind) {
    case SinkKind::http:
      return open_http_sink(loop, config, clock);
    case SinkKind::kafka:
      return open_kafka_sink(loop, config);
    case SinkKind::redis:
      return open_redis_sink(loop, config);
  }
  return std::string("unknown kind of sink");
}

}  // namespace oncekey::outbox
