// One operation of the admin API. A table of these is all there is to it: requests are routed and
// checked by it, and the OpenAPI document is written from it.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "admin/arguments.h"
#include "admin/reply.h"
#include "http/exchange.h"

namespace oncekey::admin {

enum class Access {
  open,   // anybody who reaches the port: probes and metrics
  read,   // a token, or loopback while there are none
  write,  // a token with the role `write`
};

// Who asks: as the audit file will name them.
struct Caller {
  std::string name;
  std::string from;  // address
  bool may_write = false;
};

struct Call {
  const Arguments& arguments;
  const Caller& caller;
};

// Runs on a thread that may wait for the store; one call at a time for reading, one for changing.
using Procedure = std::function<Reply(const Call&)>;
// Runs on the port's loop, and must not wait for anything but by co_await.
using Conversation = std::function<http::Task<void>(http::Exchange&, const Call&)>;

struct Endpoint {
  std::string_view method;  // GET or POST
  std::string_view path;
  Access access = Access::read;
  std::string_view name;  // operationId; the CLI's word for it as well
  std::string_view about;
  std::vector<Field> fields;
  std::string_view result;  // a schema of schemas.json; "": text or a stream
  std::variant<Procedure, Conversation> run;
};

}  // namespace oncekey::admin
