#include "http/body_source.h"

namespace oncekey::http {

bool BodySource::try_next(BodyPiece& piece) {
  input_.consume(held_);
  held_ = 0;
  BodyDecoder::Step step = decoder_.step(input_.data());
  switch (step.status) {
    case BodyDecoder::Status::data:
      held_ = step.consumed;
      piece = {BodyPiece::Kind::data, step.data};
      return true;
    case BodyDecoder::Status::done:
      input_.consume(step.consumed);
      input_.release_if_empty();
      piece = {BodyPiece::Kind::end, {}};
      return true;
    case BodyDecoder::Status::bad:
      piece = {BodyPiece::Kind::bad, {}};
      return true;
    case BodyDecoder::Status::need_more:
      input_.consume(step.consumed);
      return false;
  }
  return false;
}

Task<BodyPiece> BodySource::next(SteadyMs deadline) {
  BodyPiece piece;
  while (!try_next(piece)) {
    IoResult got = co_await stream_.read(input_, deadline);
    if (got.ok()) continue;
    if (got.error == IoError::timeout) {
      piece.kind = BodyPiece::Kind::timeout;
    } else if (got.error == IoError::closed && decoder_.ends_at_close()) {
      piece.kind = BodyPiece::Kind::end;
    } else {
      piece.kind = BodyPiece::Kind::cut;
    }
    co_return piece;
  }
  co_return piece;
}

namespace {

// What a piece means for a body that is read whole; empty: go on.
std::optional<BodyRead> take_piece(const BodyPiece& piece, std::size_t limit, std::string& body) {
  switch (piece.kind) {
    case BodyPiece::Kind::data:
      body.append(piece.data);
      if (body.size() > limit) return BodyRead::too_large;
      return std::nullopt;
    case BodyPiece::Kind::end:
      return BodyRead::complete;
    case BodyPiece::Kind::cut:
      return BodyRead::cut;
    case BodyPiece::Kind::bad:
      return BodyRead::bad;
    case BodyPiece::Kind::timeout:
      return BodyRead::timeout;
  }
  return BodyRead::bad;
}

}  // namespace

std::optional<BodyRead> try_read_whole(BodySource& source, std::size_t limit, std::string& body) {
  BodyPiece piece;
  while (source.try_next(piece)) {
    if (std::optional<BodyRead> read = take_piece(piece, limit, body)) return read;
  }
  return std::nullopt;
}

Task<BodyRead> read_whole(BodySource& source, std::size_t limit, SteadyMs deadline,
                          std::string& body) {
  for (;;) {
    std::optional<BodyRead> read = try_read_whole(source, limit, body);
    if (read) co_return *read;
    BodyPiece piece = co_await source.next(deadline);
    read = take_piece(piece, limit, body);
    if (read) co_return *read;
  }
}

}  // namespace oncekey::http
