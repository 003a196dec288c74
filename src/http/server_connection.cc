#include "http/server_connection.h"

#include <optional>

#include "http/certificate.h"
#include "http/tls_context.h"

namespace oncekey::http {

namespace {

// A body that the handler left unread is skipped up to this size; past it, the connection closes.
constexpr std::size_t skipped_body_max = 64 << 10;
// After a refusal, how long and how much we still read, so that the answer is not lost to a reset.
constexpr SteadyMs linger_ms = 1'000;
constexpr std::size_t linger_bytes_max = 256 << 10;

// The certificate of a client that has just shaken hands. A resumed session brings its own along,
// which was verified earlier: whether it is still valid has to be asked again.
struct ShownCertificate {
  std::optional<PeerCertificate> certificate;
  bool over = false;
};

ShownCertificate shown_certificate(TlsSession& session) {
  ShownCertificate shown;
  const X509* certificate = SSL_get0_peer_certificate(session.ssl());
  if (!certificate || SSL_get_verify_result(session.ssl()) != X509_V_OK) return shown;
  shown.over = certificate_is_over(*certificate);
  shown.certificate = read_certificate(*certificate);
  return shown;
}

}  // namespace

ServerConnection::ServerConnection(Loop& loop, int fd, std::string peer, Handler& handler,
                                   const ServerOptions* const& options, ServerStats& stats,
                                   const bool& draining)
    : peer_(std::move(peer)),
      stream_(loop, fd),
      handler_(handler),
      options_(options),
      stats_(stats),
      draining_(draining) {}

void ServerConnection::close_if_idle() {
  if (idle_) stream_.cancel();
}

Task<void> ServerConnection::serve() {
  Exchange exchange(stream_, input_, options_->timeouts, peer_);
  if (options_->tls) {
    Next next = co_await shake_hands(exchange);
    if (next == Next::over) co_return;
  }
  for (;;) {
    Next next = co_await read_head(exchange);
    if (next == Next::over) co_return;
    stats_.exchanges_running.fetch_add(1, std::memory_order_relaxed);
    co_await handler_.handle(exchange);
    stats_.exchanges_running.fetch_sub(1, std::memory_order_relaxed);
    bool simple = exchange.answer_complete() && exchange.keep_alive() && exchange.body_.done();
    if (!simple || draining_) {
      next = co_await finish_exchange(exchange);
      if (next == Next::over) co_return;
    }
    input_.release_if_empty();
    exchange.restart();
  }
}

Task<ServerConnection::Next> ServerConnection::shake_hands(Exchange& exchange) {
  stream_.start_tls(options_->tls->accept(stream_.socket()));
  idle_ = true;  // a drain need not wait for it
  IoResult done = co_await stream_.handshake(stream_.loop().now() + options_->timeouts.header_ms);
  idle_ = false;
  std::string reason(to_string(done.error));
  if (done.ok()) {
    ShownCertificate shown = shown_certificate(*stream_.tls());
    if (!shown.over) {
      certificate_ = std::move(shown.certificate);
      if (certificate_) exchange.peer_certificate_ = &*certificate_;
      co_return Next::request;
    }
    reason = "the client's certificate is over";
  } else if (done.error != IoError::timeout && done.error != IoError::cancelled) {
    reason = stream_.tls()->error();
  }
  if (done.error == IoError::cancelled) co_return Next::over;
  stats_.handshakes_failed.fetch_add(1, std::memory_order_relaxed);
  handler_.handshake_failed(peer_, reason);
  if (stream_.tls()->plain_http()) {
    stream_.drop_tls();
    Refusal why{400, "this port speaks HTTPS only"};
    co_await refuse(exchange, std::move(why));
  }
  co_return Next::over;
}

Task<ServerConnection::Next> ServerConnection::read_head(Exchange& exchange) {
  scanner_.restart();
  SteadyMs header_deadline = never;
  for (;;) {
    if (!input_.empty()) {
      HeadScanner::Found found = scanner_.scan(input_.data(), options_->head.bytes);
      if (found == HeadScanner::Found::complete) break;
      if (found == HeadScanner::Found::bad_line_end) {
        Refusal why{400, "a line of the head does not end in CRLF"};
        co_await refuse(exchange, std::move(why));
        co_return Next::over;
      }
      if (found == HeadScanner::Found::too_large) {
        Refusal why{431, "the request's head is too large"};
        co_await refuse(exchange, std::move(why));
        co_return Next::over;
      }
      if (header_deadline == never) {
        header_deadline = stream_.loop().now() + options_->timeouts.header_ms;
      }
    }
    idle_ = input_.empty();
    if (idle_ && draining_) co_return Next::over;
    SteadyMs deadline = header_deadline;
    if (idle_) deadline = stream_.loop().now() + options_->timeouts.idle_ms;
    IoResult got = co_await stream_.read(input_, deadline);
    bool was_idle = idle_;
    idle_ = false;
    if (got.ok()) continue;
    if (got.error == IoError::timeout && !was_idle) {
      Refusal why{408, "the request's head did not arrive in time"};
      co_await refuse(exchange, std::move(why));
    }
    co_return Next::over;
  }

  exchange.timeouts_ = &options_->timeouts;
  std::size_t begin = scanner_.head_begin();
  std::string_view text = input_.data().substr(begin, scanner_.head_end() - begin);
  std::optional<Refusal> refusal = exchange.head_.parse(text, options_->head);
  input_.consume(scanner_.head_end());
  input_.release_if_empty();
  if (!refusal) {
    Result<Framing, Refusal> framing = request_framing(exchange.head_);
    if (framing.ok()) {
      exchange.framing_ = *framing;
      exchange.body_.start(*framing);
    } else {
      refusal = framing.error();
    }
  }
  const Field* expect = refusal ? nullptr : exchange.head_.find(FieldId::expect);
  if (expect) {
    exchange.expects_continue_ = equals_ignoring_case(expect->value, "100-continue");
    if (!exchange.expects_continue_) {
      refusal = Refusal{417, "the only expectation understood is 100-continue"};
    }
    if (exchange.head_.minor_version == 0) exchange.expects_continue_ = false;
  }
  if (refusal) {
    co_await refuse(exchange, std::move(*refusal));
    co_return Next::over;
  }
  bool persistent =
      exchange.head_.minor_version == 1 || exchange.head_.connection_has("keep-alive");
  if (!persistent || draining_ || exchange.head_.connection_has("close")) exchange.close_after();
  co_return Next::request;
}

Task<ServerConnection::Next> ServerConnection::finish_exchange(Exchange& exchange) {
  if (!exchange.answer_complete()) {
    // Cut off in the middle: the client must not take it for the whole.
    stream_.reset_on_close();
    co_return Next::over;
  }
  if (exchange.keep_alive() && !exchange.body_.done()) {
    bool waiting_for_continue = exchange.expects_continue_ && input_.empty();
    if (waiting_for_continue || exchange.body_.remaining() > skipped_body_max) {
      exchange.close_after();
    } else {
      std::string skipped;
      SteadyMs deadline = stream_.loop().now() + options_->timeouts.body_ms;
      BodyRead read = co_await read_whole(exchange.body_, skipped_body_max, deadline, skipped);
      if (read != BodyRead::complete) exchange.close_after();
    }
  }
  if (exchange.keep_alive() && !draining_) co_return Next::request;
  co_await linger();
  co_return Next::over;
}

Task<void> ServerConnection::refuse(Exchange& exchange, Refusal refusal) {
  stats_.requests_refused.fetch_add(1, std::memory_order_relaxed);
  exchange.close_after();
  co_await handler_.refuse(exchange, refusal);
  co_await linger();
}

Task<void> ServerConnection::linger() {
  stream_.shutdown_write();
  SteadyMs deadline = stream_.loop().now() + linger_ms;
  std::size_t total = 0;
  while (total < linger_bytes_max) {
    input_.consume(input_.size());
    IoResult got = co_await stream_.read(input_, deadline);
    if (!got.ok()) co_return;
    total += got.bytes;
  }
}

}  // namespace oncekey::http
