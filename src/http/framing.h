// How long a message's body is. Anything that could be read in two ways is refused (request
// smuggling lives on such differences).
#pragma once

#include <cstdint>
#include <optional>

#include "http/head.h"

namespace oncekey::http {

struct Framing {
  enum class Kind { none, sized, chunked, until_close };
  Kind kind = Kind::none;
  std::uint64_t length = 0;  // sized only
};

Result<Framing, Refusal> request_framing(const RequestHead& head);
Result<Framing, Refusal> response_framing(const ResponseHead& head,
                                          std::string_view request_method);

}  // namespace oncekey::http
