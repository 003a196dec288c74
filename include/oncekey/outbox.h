// Messages that leave with the transaction that wrote them, and not without it. `oncekey worker`
// delivers them, at least once, each time with the same message key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "oncekey/record.h"

namespace oncekey {

using MessageId = std::int64_t;

struct Message {
  std::string destination;  // a sink of the worker's configuration
  std::string payload;
  std::string message_key;      // what receivers dedupe by; "": one is made
  std::string aggregate;        // messages of one aggregate are delivered in order; "": no order
  std::vector<Header> headers;  // sent along; the content type, for example
};

}  // namespace oncekey
