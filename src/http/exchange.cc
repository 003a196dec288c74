#include "http/exchange.h"

#include "http/decimal.h"

namespace oncekey::http {

Exchange::Exchange(Stream& stream, ByteBuffer& input, const ExchangeTimeouts& timeouts,
                   std::string_view peer)
    : stream_(stream), input_(input), timeouts_(&timeouts), peer_(peer), body_(stream, input) {}

void Exchange::restart() {
  head_.clear();
  framing_ = Framing{};
  body_.start(framing_);
  out_framing_ = Framing::Kind::none;
  status_ = 0;
  keep_alive_ = true;
  expects_continue_ = answered_ = complete_ = false;
}

Task<bool> Exchange::send(std::string_view first, std::string_view second) {
  if (!reachable_) co_return false;
  IoResult sent = co_await stream_.write(first, second, loop().now() + timeouts_->write_ms);
  reachable_ = sent.ok();
  co_return reachable_;
}

Task<void> Exchange::continue_if_expected() {
  if (!expects_continue_) co_return;
  expects_continue_ = false;
  if (!input_.empty() || body_.done()) co_return;  // it did not wait for us
  co_await send("HTTP/1.1 100 Continue\r\n\r\n", {});
}

Task<BodyRead> Exchange::read_body(std::size_t limit, std::string& body) {
  if (framing_.kind == Framing::Kind::sized && framing_.length > limit)
    co_return BodyRead::too_large;
  co_await continue_if_expected();
  if (framing_.kind == Framing::Kind::sized) body.reserve(framing_.length);
  BodyRead result = co_await read_whole(body_, limit, loop().now() + timeouts_->body_ms, body);
  co_return result;
}

std::optional<BodyRead> Exchange::try_read_body(std::size_t limit, std::string& body) {
  if (body_.done()) return BodyRead::complete;
  bool here = framing_.kind == Framing::Kind::sized && framing_.length <= limit &&
              input_.size() >= framing_.length;
  if (!here) return std::nullopt;
  return try_read_whole(body_, limit, body);
}

Task<BodyPiece> Exchange::next_piece() {
  co_await continue_if_expected();
  BodyPiece piece = co_await body_.next(loop().now() + timeouts_->body_ms);
  co_return piece;
}

bool Exchange::may_have_body() const {
  return head_.method != "HEAD" && status_ >= 200 && status_ != 204 && status_ != 304;
}

void Exchange::write_head(const ResponseStart& start, const Framing& framing) {
  status_ = start.status;
  out_framing_ = framing.kind;
  out_.clear();
  out_.append("HTTP/1.1 ");
  append_decimal(out_, start.status);
  out_.append(" ").append(start.reason.empty() ? reason_phrase(start.status) : start.reason);
  out_.append("\r\n").append(start.fields);
  switch (framing.kind) {
    case Framing::Kind::none:
      break;
    case Framing::Kind::sized:
      if (status_ == 204) break;
      out_.append("Content-Length: ");
      append_decimal(out_, framing.length);
      out_.append("\r\n");
      break;
    case Framing::Kind::chunked:
      if (head_.minor_version == 0) {
        out_framing_ = Framing::Kind::until_close;
        keep_alive_ = false;
      } else {
        out_.append("Transfer-Encoding: chunked\r\n");
      }
      break;
    case Framing::Kind::until_close:
      keep_alive_ = false;
      break;
  }
  if (!keep_alive_) {
    out_.append("Connection: close\r\n");
  } else if (head_.minor_version == 0) {
    out_.append("Connection: keep-alive\r\n");
  }
  out_.append("\r\n");
}

Task<bool> Exchange::respond(const ResponseStart& start, std::string_view body) {
  ONCEKEY_ASSERT(!answered_);
  answered_ = true;
  write_head(start, Framing{Framing::Kind::sized, body.size()});
  if (!may_have_body()) body = {};
  if (!reachable_) co_return false;
  IoResult sent = co_await stream_.write(out_, body, loop().now() + timeouts_->write_ms);
  reachable_ = complete_ = sent.ok();
  co_return complete_;
}

Task<bool> Exchange::begin(const ResponseStart& start, Framing framing) {
  ONCEKEY_ASSERT(!answered_);
  answered_ = true;
  write_head(start, framing);
  bool sent = co_await send(out_, {});
  co_return sent;
}

Task<bool> Exchange::send_piece(std::string_view data) {
  if (data.empty() || !may_have_body()) co_return reachable_;
  if (out_framing_ != Framing::Kind::chunked) {
    bool sent = co_await send(data, {});
    co_return sent;
  }
  out_.clear();
  append_chunk_begin(out_, data.size());
  bool sent = co_await send(out_, data);
  if (sent) sent = co_await send(chunk_end, {});
  co_return sent;
}

Task<bool> Exchange::finish() {
  if (out_framing_ == Framing::Kind::chunked && may_have_body()) co_await send(last_chunk, {});
  complete_ = reachable_;
  co_return complete_;
}

Task<bool> Exchange::send_interim(int status, std::string_view fields) {
  if (head_.minor_version == 0) co_return true;
  out_.assign("HTTP/1.1 ");
  append_decimal(out_, status);
  out_.append(" ").append(reason_phrase(status)).append("\r\n").append(fields).append("\r\n");
  bool sent = co_await send(out_, {});
  co_return sent;
}

Task<bool> Exchange::send_raw(std::string_view bytes) {
  answered_ = true;
  keep_alive_ = false;
  complete_ = co_await send(bytes, {});
  co_return complete_;
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 103:
      return "Early Hints";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 402:
      return "Payment Required";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 425:
      return "Too Early";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

}  // namespace oncekey::http
