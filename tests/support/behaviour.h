// What a test asks the upstream to do with one request, written in its X-Test-Behaviour header:
// words separated by blanks, such as "status=503 close" or "hold=first size=2000000 chunked".
// A header is no part of the fingerprint, so a retry may ask for something else.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "support/socket.h"

namespace oncekey::test {

inline constexpr std::string_view behaviour_header = "X-Test-Behaviour";

struct Behaviour {
  enum class Ending {
    none,
    reset_at_head,        // reset as soon as the head is there, the body unread
    reset_unanswered,     // reset after the whole request, without a byte
    reset_at_first_byte,  // reset after the first byte of the answer
    cut_body,             // close in the middle of the body
  };
  enum class Framing { sized, chunked, to_end };

  int status = 201;
  std::string outcome;      // sent as Idempotency-Outcome
  std::string retry_after;  // sent as Retry-After
  std::size_t first = 0;    // only the first so many requests of a key; the others get 201. 0: all
  std::string hold;         // waits until the test opens the gate of this name
  Milliseconds delay{0};    // how long the work takes
  Ending ending = Ending::none;
  Framing framing = Framing::sized;
  std::optional<std::size_t> size;  // a body of that many bytes
  bool binary = false;              // of incompressible bytes, NUL and CRLF among them
  bool close = false;               // says Connection: close, and does
  bool close_silently = false;      // closes after the answer without having said so
  bool echo = false;                // the answer is the request's head as JSON
  bool early_hints = false;         // a 103 first
  bool at_head = false;        // answers before the body, and reads nothing more until the gate
  bool upgrade = false;        // 101, then sends back whatever comes
  std::optional<bool> effect;  // unset: 500, 501 and 503 refuse before doing anything

  bool has_effect() const;
};

// Throws for a word it does not know: a misspelt test must not pass.
Behaviour parse_behaviour(std::string_view words);

// A body of `size` bytes that depends on `seed` alone.
std::string made_body(std::size_t size, bool binary, std::uint64_t seed);

}  // namespace oncekey::test
