#include "gateway/pass_through.h"

#include <algorithm>

#include "gateway/forward.h"
#include "gateway/own_answer.h"
#include "gateway/trace.h"
#include "gateway/tunnel.h"

namespace oncekey::gateway {

namespace {

constexpr DurationMs retry_unreachable_ms = 1'000;

class PassThrough {
 public:
  PassThrough(const Context& context, http::Exchange& exchange, const RouteConfig* route)
      : context_(context), exchange_(exchange), route_(route), started_us_(steady_now_us()) {
    timeout_ms_ = route ? route->upstream_timeout_ms : RouteConfig().upstream_timeout_ms;
    const http::Field* traceparent = exchange.head().find(http::FieldId::traceparent);
    std::optional<std::string_view> sent;
    if (traceparent) sent = traceparent->value;
    trace_ = keep_or_start_trace(sent);
    context.requests.begin_spans(trace_);
  }

  http::Task<void> run() {
    bool allowed = co_await check_upgrade();
    if (allowed) {
      bool sent = co_await send_head();
      if (sent) sent = co_await send_body();
      if (sent) co_await relay_answer();
    }
    write_log();
  }

 private:
  bool wants_tunnel() const {
    return exchange_.head().method == "CONNECT" ||
           (upgrade_ && context_.config.upgrade == UpgradeUse::pass);
  }

  // h2c is only an offer, and many clients make it with every request: it is not taken up.
  http::Task<bool> check_upgrade() {
    const http::Field* upgrade = exchange_.head().find(http::FieldId::upgrade);
    bool connect = exchange_.head().method == "CONNECT";
    upgrade_ = upgrade && exchange_.head().connection_has("upgrade") &&
               !http::equals_ignoring_case(upgrade->value, "h2c");
    bool refused = (connect || upgrade_) && context_.config.upgrade == UpgradeUse::refuse;
    if (!refused) co_return true;
    exchange_.close_after();
    co_await refuse(AnswerCase::not_supported,
                    "CONNECT and protocol upgrades are not passed on here (upgrade = \"refuse\").");
    co_return false;
  }

  http::Task<void> refuse(AnswerCase answer_case, std::string_view detail, int status = 0) {
    decision_ = Decision::refused;
    OwnAnswer own{answer_case, route_, detail, {}, status, {}};
    if (answer_case == AnswerCase::upstream_unreachable) own.retry_after_ms = retry_unreachable_ms;
    instance_ = co_await send_own_answer(context_, exchange_, own);
  }

  // A dead connection from the pool is replaced as long as not one byte has left.
  http::Task<bool> send_head() {
    std::string head;
    ForwardContext forward{context_.config, context_.base_path, trace_.traceparent, nullptr,
                           upgrade_ && wants_tunnel()};
    if (exchange_.head().method == "CONNECT") forward.base_path = {};
    write_upstream_head(head, exchange_, exchange_.framing(), forward);
    for (int tries = 0;; ++tries) {
      http::UpstreamPool::Acquired acquired = co_await context_.upstream.acquire();
      if (!acquired) {
        error_ = acquired.error();
        co_await refuse(AnswerCase::upstream_unreachable, {});
        co_return false;
      }
      connection_ = std::move(*acquired);
      http::IoResult sent = co_await connection_->stream.write(head, {}, deadline());
      if (sent.ok()) co_return true;
      if (sent.bytes == 0 && connection_->reused && tries < 8) continue;
      error_ = "sending to the upstream: ";
      error_ += http::to_string(sent.error);
      AnswerCase answer_case = AnswerCase::upstream_unreachable;
      if (sent.bytes > 0) answer_case = AnswerCase::upstream_failed;
      co_await refuse(answer_case, {});
      co_return false;
    }
  }

  // False: the client's body failed, and the request is over.
  http::Task<bool> send_body() {
    bool chunked = exchange_.framing().kind == http::Framing::Kind::chunked;
    if (exchange_.framing().kind == http::Framing::Kind::none) {
      sent_whole_ = true;
      co_return true;
    }
    for (;;) {
      http::BodyPiece piece = co_await exchange_.next_piece();
      if (piece.kind == http::BodyPiece::Kind::end) break;
      if (piece.kind != http::BodyPiece::Kind::data) {
        connection_.reset();
        exchange_.close_after();
        error_ = "the request's body ended early";
        bool late = piece.kind == http::BodyPiece::Kind::timeout;
        AnswerCase answer_case = AnswerCase::request_invalid;
        if (late) answer_case = AnswerCase::request_timeout;
        co_await refuse(answer_case, "The request's body was cut off, malformed or too slow.");
        co_return false;
      }
      std::string frame;
      if (chunked) http::append_chunk_begin(frame, piece.data.size());
      http::IoResult sent = co_await connection_->stream.write(frame, piece.data, deadline());
      if (sent.ok() && chunked) {
        sent = co_await connection_->stream.write(http::chunk_end, {}, deadline());
      }
      if (!sent.ok()) {
        // It may have answered without reading everything; that answer is worth having.
        exchange_.close_after();
        co_return true;
      }
    }
    http::IoResult ended;
    if (chunked) ended = co_await connection_->stream.write(http::last_chunk, {}, deadline());
    sent_whole_ = ended.ok();
    co_return true;
  }

  http::Task<void> relay_answer() {
    http::UpstreamConnection& connection = *connection_;
    const http::HeadLimits& limits = context_.upstream.options().head;
    for (;;) {
      auto head = co_await connection.read_head(exchange_.head().method, limits, deadline());
      if (!head.ok) {
        error_ = std::move(head.error);
        int status = head.timed_out ? 504 : 502;
        co_await refuse(AnswerCase::upstream_failed, {}, status);
        co_return;
      }
      int status = connection.head.status;
      if (status == 101 ||
          (status >= 200 && status < 300 && exchange_.head().method == "CONNECT")) {
        co_await tunnel();
        co_return;
      }
      if (status >= 200) break;
      if (status == 100) continue;  // the client had its own from us
      std::string fields;
      append_relayed_fields(fields, connection.head);
      co_await exchange_.send_interim(status, fields);
    }
    http::ResponseStart start;
    start.status = connection.head.status;
    start.reason = connection.head.reason;
    append_relayed_fields(start.fields, connection.head);
    if (!connection.head.find(http::FieldId::date)) add_date(start);
    co_await relay_body(connection, start);
    // An upstream that waits for the rest of a body would take the next request for it.
    if (connection_ && sent_whole_ && connection.reusable()) {
      context_.upstream.release(std::move(connection_));
    }
  }

  http::Task<void> relay_body(http::UpstreamConnection& connection,
                              const http::ResponseStart& start) {
    http::Framing framing = connection.framing;
    if (framing.kind == http::Framing::Kind::none) {
      co_await respond_bodiless(connection, start);
      co_return;
    }
    http::BodyPiece piece;
    bool whole = framing.kind == http::Framing::Kind::sized && connection.body.try_next(piece) &&
                 connection.body.done();
    if (whole) {
      co_await exchange_.respond(start, piece.data);
      co_await connection.body.next(deadline());
      co_return;
    }
    if (framing.kind == http::Framing::Kind::until_close)
      framing.kind = http::Framing::Kind::chunked;
    bool reachable = co_await exchange_.begin(start, framing);
    if (reachable && !piece.data.empty()) reachable = co_await exchange_.send_piece(piece.data);
    while (reachable) {
      piece = co_await connection.body.next(deadline());
      if (piece.kind == http::BodyPiece::Kind::end) {
        co_await exchange_.finish();
        co_return;
      }
      if (piece.kind != http::BodyPiece::Kind::data) {
        error_ = "the upstream's answer was cut off";
        co_return;  // the client sees it cut, as it is
      }
      reachable = co_await exchange_.send_piece(piece.data);
    }
  }

  // HEAD and 304 describe a body that is not there: its length is still told.
  http::Task<void> respond_bodiless(const http::UpstreamConnection& connection,
                                    const http::ResponseStart& start) {
    http::Framing framing;
    const http::Field* length = connection.head.find(http::FieldId::content_length);
    http::ResponseStart complete = start;
    if (length && start.status != 204) complete.add("Content-Length", length->value);
    co_await exchange_.begin(complete, framing);
    co_await exchange_.finish();
  }

  http::Task<void> tunnel() {
    http::UpstreamConnection& connection = *connection_;
    if (!wants_tunnel()) {
      error_ = "the upstream switched protocols unasked";
      co_await refuse(AnswerCase::upstream_failed, {});
      co_return;
    }
    tunnel_status_ = connection.head.status;
    co_await exchange_.send_raw(connection.head.text);
    co_await run_tunnel(exchange_.stream(), exchange_.input(), connection.stream, connection.input,
                        context_.config.timeouts.idle_ms);
  }

  http::SteadyMs deadline() const { return context_.loop.now() + timeout_ms_; }

  void write_log() {
    RequestLine line;
    line.method = exchange_.head().method;
    line.path = exchange_.head().path;
    if (route_ != nullptr) line.route = route_->match;
    line.trace_id = trace_.trace_id();
    line.peer = exchange_.peer();
    line.decision = decision_;
    line.error = error_;
    line.instance = instance_;
    line.status = tunnel_status_ != 0 ? tunnel_status_ : exchange_.status();
    line.client_gone = !exchange_.client_reachable();
    line.total_us = steady_now_us() - started_us_;
    context_.metrics.request(line.decision, line.status, to_seconds(line.total_us));
    context_.requests.request(line, trace_);
  }

  const Context& context_;
  http::Exchange& exchange_;
  const RouteConfig* route_;
  std::int64_t started_us_;
  DurationMs timeout_ms_;
  Trace trace_;
  bool upgrade_ = false;
  int tunnel_status_ = 0;
  http::UpstreamPool::Lease connection_;
  bool sent_whole_ = false;
  Decision decision_ = Decision::passed;
  std::string error_;
  std::string instance_;
};

}  // namespace

http::Task<void> pass_through(const Context& context, http::Exchange& exchange,
                              const RouteConfig* route) {
  PassThrough request(context, exchange, route);
  co_await request.run();
}

}  // namespace oncekey::gateway
