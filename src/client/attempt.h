// One request on one connection, blocking, with a deadline and a way to call it off.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>

#include "http/address.h"
#include "http/tls_context.h"
#include "oncekey/client.h"

namespace oncekey::client {

struct NothingSent {
  std::string error;
};
struct NoAnswer {  // something was sent: it may have been executed
  std::string error;
};
using AttemptOutcome = std::variant<ClientAnswer, NothingSent, NoAnswer>;

struct Attempt {
  const http::HttpUrl& url;
  const std::string& method;
  const std::string& bytes;  // the whole request
  DurationMs timeout_ms;     // without the look-up of a name, which the system bounds
  std::size_t answer_size_max;
  std::shared_ptr<const http::ClientTls> tls = nullptr;  // for https; null: whom the system trusts
  // Not null: takes the body of a 200 as it comes. `timeout_ms` is then the longest silence.
  std::function<void(std::string_view)> on_body = nullptr;
};

AttemptOutcome perform(const Attempt& attempt, const std::stop_token& stop);

}  // namespace oncekey::client
