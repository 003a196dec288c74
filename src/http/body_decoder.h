// Takes a message body out of its framing. No I/O: feed it what has arrived.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/framing.h"

namespace oncekey::http {

class BodyDecoder {
 public:
  static constexpr std::size_t chunk_line_max = 256;  // size and extensions
  static constexpr std::size_t trailers_max = 8 << 10;

  enum class Status { data, need_more, done, bad };
  struct Step {
    Status status = Status::need_more;
    std::size_t consumed = 0;  // how much of the input is used up, including `data`
    std::string_view data;     // a piece of the body, inside the input
  };

  explicit BodyDecoder(Framing framing = {});

  // Looks at the input once; call again with what follows the consumed bytes.
  Step step(std::string_view input);

  // The peer has closed: whether that ends the body properly (only until_close), or cuts it.
  bool ends_at_close() const { return framing_.kind == Framing::Kind::until_close; }
  bool done() const { return phase_ == Phase::done; }
  const std::string& error() const { return error_; }
  std::uint64_t remaining() const { return remaining_; }  // sized: bytes still to come

 private:
  enum class Phase { sized, until_close, chunk_size, chunk_data, chunk_end, trailers, done, bad };

  Step step_sized(std::string_view input);
  Step step_chunk_size(std::string_view input);
  Step step_chunk_end(std::string_view input);
  Step step_trailers(std::string_view input);
  Step fail(std::string reason);

  Framing framing_;
  Phase phase_;
  std::uint64_t remaining_ = 0;
  std::size_t trailer_bytes_ = 0;
  std::string error_;
};

// Appends one chunk's framing around `data`; an empty `data` writes the end of the body.
void append_chunk_begin(std::string& out, std::size_t size);
inline constexpr std::string_view chunk_end = "\r\n";
inline constexpr std::string_view last_chunk = "0\r\n\r\n";

}  // namespace oncekey::http
