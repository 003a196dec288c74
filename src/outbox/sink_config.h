// Where messages go: one [[sink]] of the configuration. A message's destination is a sink's name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::outbox {

enum class SinkKind : std::uint8_t { http, kafka, redis };
enum class On4xx : std::uint8_t { dead, retry };

struct SinkConfig {
  std::string name;
  SinkKind kind = SinkKind::http;
  std::string
      url;  // http(s)://host/path, kafka://broker:port[,broker:port…]/topic, redis://host:port
  DurationMs timeout_ms = 10'000;  // of one delivery
  std::uint32_t in_flight_max = 64;
  std::uint32_t attempts_max = 15;
  DurationMs backoff_base_ms = 1'000;
  DurationMs backoff_max_ms = 3'600'000;

  // http
  std::vector<std::string> secrets;  // "whsec_…"; the first is the newest. Empty: not signed
  std::string secret_file;           // more of them, one on a line
  On4xx on_4xx = On4xx::dead;        // but 408, 409, 425 and 429, which are always tried again
  // A status besides 2xx by which the receiver has decided, so that the message is delivered: 402
  // of a payment provider that made the charge and declined it. 0: none
  std::uint32_t decided_status = 0;
  std::string key_header = "Idempotency-Key";
  std::string provider_id_pointer = "/id";  // into a JSON answer; "": none
  std::string provider_id_header;           // wins over the pointer; "": none
  std::size_t response_limit = 64 << 10;
  std::string ca;  // PEM: whom an https:// URL trusts; "": whom the system trusts

  // redis
  std::string stream;                   // "": the sink's name
  std::uint64_t stream_max_length = 0;  // XADD MAXLEN ~; 0: no limit

  // kafka: settings of librdkafka, "name=value"
  std::vector<std::string> properties;
};

}  // namespace oncekey::outbox
