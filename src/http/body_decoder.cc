#include "http/body_decoder.h"

#include <algorithm>
#include <charconv>

namespace oncekey::http {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// One line with its CRLF, or nothing yet, or a line that ends or is made wrongly.
struct Line {
  enum class Kind { complete, incomplete, bad } kind;
  std::string_view text;
  std::size_t size = 0;
};

Line find_line(std::string_view input, std::size_t size_max) {
  std::size_t end = input.find('\n');
  if (end == std::string_view::npos) {
    return {input.size() > size_max ? Line::Kind::bad : Line::Kind::incomplete, {}, 0};
  }
  if (end == 0 || input[end - 1] != '\r' || end + 1 > size_max) return {Line::Kind::bad, {}, 0};
  std::string_view text = input.substr(0, end - 1);
  for (char c : text) {
    auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t') || byte == 0x7f) return {Line::Kind::bad, {}, 0};
  }
  return {Line::Kind::complete, text, end + 1};
}

// A trailer must not change what the head has said about framing, routing or credentials.
bool is_forbidden_trailer(FieldId id) {
  switch (id) {
    case FieldId::content_length:
    case FieldId::host:
    case FieldId::authorization:
    case FieldId::content_type:
    case FieldId::expect:
    case FieldId::idempotency_key:
      return true;
    default:
      return is_hop_by_hop(id);
  }
}

}  // namespace

BodyDecoder::BodyDecoder(Framing framing) : framing_(framing) {
  switch (framing.kind) {
    case Framing::Kind::none:
      phase_ = Phase::done;
      break;
    case Framing::Kind::sized:
      remaining_ = framing.length;
      phase_ = framing.length == 0 ? Phase::done : Phase::sized;
      break;
    case Framing::Kind::chunked:
      phase_ = Phase::chunk_size;
      break;
    case Framing::Kind::until_close:
      phase_ = Phase::until_close;
      break;
  }
}

BodyDecoder::Step BodyDecoder::fail(std::string reason) {
  error_ = std::move(reason);
  phase_ = Phase::bad;  // whatever follows cannot be trusted either
  return {Status::bad, 0, {}};
}

BodyDecoder::Step BodyDecoder::step(std::string_view input) {
  switch (phase_) {
    case Phase::done:
      return {Status::done, 0, {}};
    case Phase::until_close:
      if (input.empty()) return {};
      return {Status::data, input.size(), input};
    case Phase::sized:
    case Phase::chunk_data:
      return step_sized(input);
    case Phase::chunk_size:
      return step_chunk_size(input);
    case Phase::chunk_end:
      return step_chunk_end(input);
    case Phase::trailers:
      return step_trailers(input);
    case Phase::bad:
      break;
  }
  return {Status::bad, 0, {}};
}

BodyDecoder::Step BodyDecoder::step_sized(std::string_view input) {
  if (input.empty()) return {};
  auto take = static_cast<std::size_t>(std::min<std::uint64_t>(remaining_, input.size()));
  remaining_ -= take;
  if (remaining_ == 0) phase_ = phase_ == Phase::sized ? Phase::done : Phase::chunk_end;
  return {Status::data, take, input.substr(0, take)};
}

BodyDecoder::Step BodyDecoder::step_chunk_size(std::string_view input) {
  Line line = find_line(input, chunk_line_max);
  if (line.kind == Line::Kind::incomplete) return {};
  if (line.kind == Line::Kind::bad) return fail("a chunk's size line is malformed");
  std::uint64_t size = 0;
  std::size_t digits = 0;
  while (digits < line.text.size() && hex_digit(line.text[digits]) >= 0) {
    size = size * 16 + static_cast<std::uint64_t>(hex_digit(line.text[digits]));
    if (++digits > 15) return fail("a chunk is too large");
  }
  if (digits == 0) return fail("a chunk has no size");
  // After the size: nothing, or extensions.
  std::string_view rest = line.text.substr(digits);
  while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t')) rest.remove_prefix(1);
  if (rest.empty() ? digits != line.text.size() : rest.front() != ';') {
    return fail("a chunk's size is followed by something that is no extension");
  }
  remaining_ = size;
  phase_ = size == 0 ? Phase::trailers : Phase::chunk_data;
  Step next = step(input.substr(line.size));
  next.consumed += line.size;
  return next;
}

BodyDecoder::Step BodyDecoder::step_chunk_end(std::string_view input) {
  if (input.size() < 2) {
    return input.empty() || input[0] == '\r' ? Step{} : fail("a chunk does not end in CRLF");
  }
  if (input.substr(0, 2) != "\r\n") return fail("a chunk does not end in CRLF");
  phase_ = Phase::chunk_size;
  Step next = step(input.substr(2));
  next.consumed += 2;
  return next;
}

BodyDecoder::Step BodyDecoder::step_trailers(std::string_view input) {
  Line line = find_line(input, trailers_max);
  if (line.kind == Line::Kind::incomplete) return {};
  if (line.kind == Line::Kind::bad) return fail("a trailer line is malformed");
  trailer_bytes_ += line.size;
  if (trailer_bytes_ > trailers_max) return fail("the trailers are too large");
  if (line.text.empty()) {
    phase_ = Phase::done;
    return {Status::done, line.size, {}};
  }
  std::size_t colon = line.text.find(':');
  std::string_view name = line.text.substr(0, colon);
  if (colon == std::string_view::npos || !is_token(name)) return fail("a trailer is malformed");
  if (is_forbidden_trailer(field_id(name))) return fail("a trailer has a name it may not have");
  Step next = step(input.substr(line.size));
  next.consumed += line.size;
  return next;
}

void append_chunk_begin(std::string& out, std::size_t size) {
  char digits[16];
  auto end = std::to_chars(digits, digits + sizeof digits, size, 16).ptr;
  out.append(digits, end).append("\r\n");
}

}  // namespace oncekey::http
