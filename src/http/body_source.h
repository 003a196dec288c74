// A body that is still arriving: a decoder fed from a socket.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "http/body_decoder.h"
#include "http/byte_buffer.h"
#include "http/stream.h"
#include "http/task.h"

namespace oncekey::http {

struct BodyPiece {
  enum class Kind { data, end, cut, bad, timeout };
  Kind kind = Kind::end;
  std::string_view data;  // valid until the next call
};

class BodySource {
 public:
  BodySource(Stream& stream, ByteBuffer& input) : stream_(stream), input_(input) {}

  void start(Framing framing) {
    decoder_ = BodyDecoder(framing);
    held_ = 0;
  }

  // The next piece; each read from the socket may take until `deadline`.
  Task<BodyPiece> next(SteadyMs deadline);
  // The same without waiting; false: nothing has arrived yet.
  bool try_next(BodyPiece& piece);

  bool done() const { return decoder_.done(); }
  const std::string& error() const { return decoder_.error(); }
  std::uint64_t remaining() const { return decoder_.remaining(); }

 private:
  Stream& stream_;
  ByteBuffer& input_;
  BodyDecoder decoder_;
  std::size_t held_ = 0;  // bytes of the last piece, still in the buffer
};

enum class BodyRead { complete, too_large, cut, bad, timeout };

// As far as it has arrived; empty: there is more to come.
std::optional<BodyRead> try_read_whole(BodySource& source, std::size_t limit, std::string& body);

// Appends the rest of the body to `body`. After too_large, `body` holds what fitted and the last
// piece: more than `limit` bytes, none of them lost.
Task<BodyRead> read_whole(BodySource& source, std::size_t limit, SteadyMs deadline,
                          std::string& body);

}  // namespace oncekey::http
