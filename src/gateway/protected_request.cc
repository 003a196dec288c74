#include "gateway/protected_request.h"

#include <algorithm>

#include "boundary/body_key.h"
#include "boundary/response_codec.h"
#include "gateway/own_answer.h"
#include "gateway/relay.h"
#include "gateway/settlement.h"
#include "gateway/unprotected.h"

namespace oncekey::gateway {

namespace {

// How long a client should wait before it asks again.
constexpr DurationMs retry_in_flight_ms = 1'000;
constexpr DurationMs retry_store_ms = 1'000;
constexpr DurationMs retry_unknown_ms = 30'000;
// A probe that is due now is asked at the reconciler's next look, and answered soon after.
constexpr DurationMs retry_probe_due_ms = 2'000;
constexpr DurationMs retry_unreachable_ms = 1'000;
// A waiting duplicate also asks the store this often: another node may have settled the record.
constexpr DurationMs wait_poll_ms = 250;

// Tells the store that the owner is alive while the upstream works.
class Heart final : private http::Timer {
 public:
  Heart(const Context& context, const RecordId& id, Fence fence, DurationMs lease_ms)
      : context_(context), id_(id), fence_(fence), lease_ms_(lease_ms) {
    beat_later();
  }

 private:
  void beat_later() { arm(context_.loop.timers(), context_.loop.now() + lease_ms_ / 3); }
  void on_deadline() override {
    Heartbeat beat;
    beat.id = id_;
    beat.fence = fence_;
    beat.lease_ms = lease_ms_;
    context_.gate.commit_unattended(std::move(beat));
    beat_later();
  }

  const Context& context_;
  const RecordId& id_;
  Fence fence_;
  DurationMs lease_ms_;
};

// The first two lines of a header that should have one: more make no difference.
struct TwoLines {
  std::string_view values[2];
  std::size_t count = 0;

  std::span<const std::string_view> sent() const { return {values, count}; }
};

TwoLines header_lines(const http::RequestHead& head, std::string_view name) {
  TwoLines lines;
  for (const http::Field& field : head.fields) {
    if (lines.count < 2 && http::equals_ignoring_case(field.name, name)) {
      lines.values[lines.count++] = field.value;
    }
  }
  return lines;
}

// All lines of a header as one, as RFC 9110 reads them.
std::string joined(const http::RequestHead& head, std::string_view name) {
  std::string value;
  for (const http::Field& field : head.fields) {
    if (!http::equals_ignoring_case(field.name, name)) continue;
    if (!value.empty()) value.append(", ");
    value.append(field.value);
  }
  return value;
}

bool has_probe(const RouteConfig& route) {
  return !route.probe.get.empty();
}

DurationMs first_probe_in(const RouteConfig& route) {
  return has_probe(route) ? route.probe.every_ms : retry_unknown_ms;
}

ReserveResult result_of(const ReserveOutcome& outcome) {
  if (auto* execute = std::get_if<Execute>(&outcome)) {
    return execute->attempt > 1 ? ReserveResult::failed_retry : ReserveResult::created;
  }
  if (std::holds_alternative<Replay>(outcome)) return ReserveResult::replay;
  if (std::holds_alternative<InFlight>(outcome)) return ReserveResult::in_progress;
  if (std::holds_alternative<Mismatch>(outcome)) return ReserveResult::misuse;
  if (std::holds_alternative<OutcomeUnknown>(outcome)) return ReserveResult::unknown;
  if (std::holds_alternative<Expired>(outcome)) return ReserveResult::expired;
  return ReserveResult::unavailable;
}

std::string_view name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::completed:
      return "completed";
    case Outcome::failed_retryable:
      return "failed_retryable";
    case Outcome::unknown:
      return "unknown";
  }
  return "unknown";
}

Classification classify(const DispatchResult& result, On5xx on_5xx) {
  if (result.kind == DispatchResult::Kind::silence) {
    return classify_silence(result.any_byte_sent, result.error);
  }
  const http::ResponseHead& head = result.connection->head;
  std::optional<std::string_view> said;
  if (const http::Field* field = head.find(http::FieldId::idempotency_outcome)) said = field->value;
  if (head.count(http::FieldId::idempotency_outcome) > 1) said = "contradictory";
  return classify_answer(head.status, said, on_5xx);
}

// What a replay will repeat of this answer; null when it is too large to keep.
std::shared_ptr<const StoredResponse> keep(const DispatchResult& result, const RouteConfig& route) {
  if (result.kind != DispatchResult::Kind::answer) return nullptr;
  const std::vector<std::string>& allowed =
      route.replay_headers.empty() ? default_replay_headers() : route.replay_headers;
  auto may_matter = [&](const http::Field& field) {
    if (field.id == http::FieldId::connection) return true;
    return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& name) {
      return http::equals_ignoring_case(name, field.name);
    });
  };
  std::vector<Header> headers;
  for (const http::Field& field : result.connection->head.fields) {
    if (!may_matter(field)) continue;
    headers.push_back(Header{std::string(field.name), std::string(field.value)});
  }
  return std::make_shared<const StoredResponse>(
      pack_response(result.connection->head.status, headers, result.body, allowed));
}

}  // namespace

ProtectedRequest::ProtectedRequest(const Context& context, http::Exchange& exchange,
                                   const Route& route)
    : context_(context), exchange_(exchange), route_(route.config), started_us_(steady_now_us()) {
  const http::Field* traceparent = exchange.head().find(http::FieldId::traceparent);
  std::optional<std::string_view> sent;
  if (traceparent) sent = traceparent->value;
  trace_ = keep_or_start_trace(sent);
}

http::Task<bool> ProtectedRequest::run() {
  KeyFound found = find_key();
  if (found == KeyFound::absent) co_return false;
  if (!refused()) find_tenant();
  if (!refused()) {
    std::optional<http::BodyRead> read = exchange_.try_read_body(route_.body_limit, body_);
    if (!read) read = co_await exchange_.read_body(route_.body_limit, body_);
    judge_body(*read);
  }
  if (!refused() && found == KeyFound::in_body) find_key_in_body();
  if (refused()) {
    co_await answer(Decision::refused, refusal_->answer_case, refusal_->detail);
  } else {
    compute_fingerprint();
    co_await reserve();
  }
  write_log();
  co_return true;
}

ProtectedRequest::KeyFound ProtectedRequest::find_key() {
  TwoLines lines = header_lines(exchange_.head(), route_.key_header);
  if (lines.count == 0 && !route_.key_pointer.empty()) return KeyFound::in_body;
  if (lines.count == 0 && route_.key == KeyUse::optional) return KeyFound::absent;
  Result<Key, KeyError> key = parse_key(lines.sent(), route_.key_policy);
  if (!key) {
    refusal_ = Refusal{AnswerCase::key_invalid, key.error().detail};
    if (lines.count == 0) refusal_ = Refusal{AnswerCase::key_missing, {}};
    return KeyFound::refused;
  }
  if (key->personal_data) context_.metrics.personal_data_key();
  sent_key_ = lines.values[0];
  id_.key = std::move(key->value);
  return KeyFound::yes;
}

void ProtectedRequest::find_key_in_body() {
  std::optional<std::string> value = string_at(body_, route_.key_pointer);
  if (!value) {
    refusal_ = Refusal{AnswerCase::key_missing, "Send the header " + route_.key_header +
                                                    ", or a string at " + route_.key_pointer +
                                                    " in the JSON body. Nothing was executed."};
    return;
  }
  Result<Key, KeyError> key = check_key(*value, route_.key_policy);
  if (!key) {
    refusal_ = Refusal{AnswerCase::key_invalid, key.error().detail};
    return;
  }
  if (key->personal_data) context_.metrics.personal_data_key();
  id_.key = std::move(key->value);
}

void ProtectedRequest::find_tenant() {
  const CallerEvidence evidence = evidence_of(exchange_, wall_now_ms());
  Result<Caller, TenantError> caller = context_.tenants->resolve(evidence, route_);
  if (caller) {
    id_.scope = caller->scope;
    tenant_ = std::move(caller->tenant);
  } else {
    const bool missing = caller.error().reason == TenantError::Reason::missing;
    refusal_ = Refusal{missing ? AnswerCase::tenant_missing : AnswerCase::tenant_refused,
                       caller.error().detail};
  }
}

void ProtectedRequest::judge_body(http::BodyRead read) {
  if (read == http::BodyRead::complete) return;
  exchange_.close_after();
  switch (read) {
    case http::BodyRead::complete:
      break;
    case http::BodyRead::too_large:
      refusal_ = Refusal{AnswerCase::body_too_large, "The request's body is larger than " +
                                                         std::to_string(route_.body_limit) +
                                                         " bytes, the limit of this route."};
      break;
    case http::BodyRead::timeout:
      refusal_ = Refusal{AnswerCase::request_timeout, "The request's body did not arrive in time."};
      break;
    case http::BodyRead::cut:
      refusal_ = Refusal{AnswerCase::request_invalid, "The request's body ended early."};
      break;
    case http::BodyRead::bad:
      refusal_ = Refusal{AnswerCase::request_invalid,
                         "The request's body is malformed: " + exchange_.body_error() + "."};
      break;
  }
}

void ProtectedRequest::compute_fingerprint() {
  const http::RequestHead& head = exchange_.head();
  FingerprintInput input;
  input.tenant = id_.scope;
  input.method = head.method;
  input.target = head.target;
  std::string content_type = joined(head, "Content-Type");
  std::string content_encoding = joined(head, "Content-Encoding");
  input.content_type = content_type;
  input.content_encoding = content_encoding;
  input.body = body_;
  fingerprint_ = context_.fingerprinter.compute(input, route_.fingerprint);
}

void ProtectedRequest::fill_reserve(Reserve& reserve) const {
  reserve.id = id_;
  reserve.fingerprint = fingerprint_;
  reserve.lease_ms = route_.lease_ms;
  reserve.retention_ms = route_.retention_ms;
  reserve.tombstone_ms = route_.on_expired == OnExpired::tombstone ? route_.tombstone_ms : 0;
  reserve.method = exchange_.head().method;
  reserve.path = exchange_.head().path;
  reserve.owner = context_.owner;
}

http::Task<void> ProtectedRequest::reserve() {
  if (auto cached = context_.cache.find(id_, context_.loop.now())) {
    context_.metrics.cache_replay();
    if (cached->fingerprint == fingerprint_) {
      context_.metrics.reserve(ReserveResult::replay, 0);
      co_await replay(cached->replay);
    } else {
      context_.metrics.reserve(ReserveResult::misuse, 0);
      context_.metrics.misuse(id_.scope);
      co_await answer(Decision::mismatch, AnswerCase::mismatch);
    }
    co_return;
  }
  http::SteadyMs wait_until = context_.loop.now() + route_.wait_timeout_ms;
  bool seen_in_flight = false;
  for (;;) {
    std::int64_t begun_us = steady_now_us();
    http::SteadyMs asked_at = context_.loop.now();
    http::SteadyMs deadline = asked_at + context_.config.timeouts.store_ms;
    CommitGate::Commit<Reserve> commit = context_.gate.commit<Reserve>(deadline);
    fill_reserve(commit.operation());
    ReserveOutcome outcome = co_await commit;
    line_.reserve_us += steady_now_us() - begun_us;
    bool held = std::holds_alternative<InFlight>(outcome) &&
                route_.on_inflight == OnInflight::wait && context_.loop.now() < wait_until;
    if (held) {
      seen_in_flight = true;
      http::SteadyMs poll = std::min(wait_until, context_.loop.now() + wait_poll_ms);
      SettleSignals::Wait wait(context_.signals, context_.loop, id_, poll);
      co_await wait;
      continue;
    }
    context_.metrics.reserve(result_of(outcome), to_seconds(line_.reserve_us));
    if (auto* execution = std::get_if<Execute>(&outcome)) {
      std::int64_t lease_over_us = begun_us + route_.lease_ms * 1'000;
      co_await execute(*execution, lease_over_us);
    } else if (auto* stored = std::get_if<Replay>(&outcome)) {
      ReplayCache::Entry entry{fingerprint_, *stored};
      context_.cache.insert(id_, std::move(entry), asked_at);
      co_await replay(*stored);
    } else if (auto* running = std::get_if<InFlight>(&outcome)) {
      line_.attempt = running->attempt;
      context_.metrics.duplicate(id_.scope);
      co_await answer(Decision::in_flight, AnswerCase::in_flight, {}, retry_in_flight_ms);
    } else if (std::holds_alternative<Mismatch>(outcome)) {
      context_.metrics.misuse(id_.scope);
      co_await answer(Decision::mismatch, AnswerCase::mismatch);
    } else if (auto* unknown = std::get_if<OutcomeUnknown>(&outcome)) {
      line_.attempt = unknown->attempt;
      context_.metrics.duplicate(id_.scope);
      DurationMs wait_ms = unknown->reconcile_after - unknown->decided_at;
      if (wait_ms <= 0) wait_ms = has_probe(route_) ? retry_probe_due_ms : retry_unknown_ms;
      co_await answer(Decision::unknown, AnswerCase::outcome_unknown, {}, wait_ms);
    } else if (std::holds_alternative<Expired>(outcome)) {
      context_.metrics.duplicate(id_.scope);
      co_await answer(Decision::expired, AnswerCase::result_expired);
    } else {
      error_ = std::get<Unavailable>(outcome).reason;
      context_.metrics.store_error();
      // Never for a key that is known to be in use.
      if (route_.fail_open && !seen_in_flight) {
        co_await fail_open();
      } else {
        co_await answer(Decision::unavailable, AnswerCase::store_unavailable, {}, retry_store_ms);
      }
    }
    co_return;
  }
}

http::Task<void> ProtectedRequest::fail_open() {
  line_.decision = Decision::fail_open;
  Unprotected request{id_, body_, trace_.traceparent, error_};
  UnprotectedOutcome outcome = co_await execute_unprotected(context_, exchange_, route_, request);
  line_.upstream_us = outcome.upstream_us;
  instance_ = std::move(outcome.instance);
  if (!outcome.error.empty()) error_.append("; ").append(outcome.error);
}

http::Task<void> ProtectedRequest::execute(Execute hold, std::int64_t lease_over_us) {
  line_.attempt = hold.attempt;
  ForwardedKey key{route_.key_header, echoed_key(), hold.attempt};
  ForwardContext forward{context_.config, context_.base_path, trace_.traceparent, &key, false};
  std::int64_t begun_us = steady_now_us();
  DispatchResult result;
  {
    Heart heart(context_, id_, hold.fence, route_.lease_ms);
    result = co_await dispatch(context_, exchange_, route_, forward, body_, lease_over_us);
  }
  line_.upstream_us = steady_now_us() - begun_us;
  context_.metrics.upstream(to_seconds(line_.upstream_us));

  Classification classification = classify(result, route_.on_5xx);
  error_ = classification.reason;
  line_.outcome = name_of(classification.outcome);
  line_.decision = Decision::executed;
  const DurationMs reconcile_in_ms = first_probe_in(route_);
  Verdict verdict = SettleUnknown{classification.reason, reconcile_in_ms};
  if (classification.outcome == Outcome::completed) {
    verdict = SettleCompleted{keep(result, route_)};
  } else if (classification.outcome == Outcome::failed_retryable) {
    verdict = SettleFailed{classification.reason};
  }
  bool settled = co_await settle(hold, verdict, line_.outcome);
  if (!settled) co_return;

  if (result.kind != DispatchResult::Kind::silence) {
    http::ResponseStart start = relayed_start(result, route_.key_header);
    add_idempotency_fields(start, settled_expires_at_);
    co_await relay(context_, exchange_, route_, result, start);
  } else if (!result.any_byte_sent) {
    co_await answer(Decision::executed, AnswerCase::upstream_unreachable, {}, retry_unreachable_ms);
  } else {
    int status = result.timed_out ? 504 : 502;
    co_await answer(
        Decision::executed, AnswerCase::outcome_unknown,
        "The request was sent, but no whole answer came back, so it is not known whether "
        "it was executed. It will not be sent again. Ask with the same key after the time "
        "in Retry-After; a new key could make the operation run twice.",
        reconcile_in_ms, status);
  }
}

http::Task<bool> ProtectedRequest::settle(const Execute& hold, const Verdict& verdict,
                                          std::string_view outcome) {
  std::int64_t begun_us = steady_now_us();
  Settlement settlement = co_await settle_within_patience(context_, id_, hold, verdict);
  line_.settle_us = steady_now_us() - begun_us;
  context_.metrics.settle(outcome, to_seconds(line_.settle_us));
  context_.signals.notify(id_);
  switch (settlement.kind) {
    case Settlement::Kind::settled:
      settled_expires_at_ = settlement.expires_at;
      co_return true;
    case Settlement::Kind::stale:
      error_ = "settled too late: the record has another owner";
      co_await answer(Decision::unknown, AnswerCase::outcome_unknown, {}, retry_unknown_ms);
      co_return false;
    case Settlement::Kind::pending:
      error_ = settlement.error;
      co_await answer(
          Decision::unavailable, AnswerCase::store_unavailable,
          "The outcome of the request could not be recorded yet; it is being tried further. "
          "Ask again with the same key.",
          retry_store_ms);
      co_return false;
  }
  co_return false;
}

void ProtectedRequest::add_idempotency_fields(http::ResponseStart& start,
                                              TimestampMs expires_at) const {
  start.add(route_.key_header, echoed_key());
  if (expires_at > 0) start.add("Idempotency-Expires", format_rfc3339(expires_at));
}

http::Task<void> ProtectedRequest::replay(const Replay& stored) {
  context_.metrics.duplicate(id_.scope);
  line_.attempt = stored.attempt;
  if (!stored.response) {
    co_await answer(Decision::expired, AnswerCase::result_too_large);
    co_return;
  }
  const StoredResponse& response = *stored.response;
  std::string unpacked;
  std::string_view body = response.body;
  bool plain = response.schema_version == StoredResponse::current_schema_version &&
               response.body_encoding == BodyEncoding::identity;
  if (!plain) {
    Result<std::string, UnpackError> result = unpack_body(response);
    if (!result) {
      error_ = result.error().reason;
      co_await answer(Decision::unavailable, AnswerCase::result_unreadable);
      co_return;
    }
    unpacked = std::move(*result);
    body = unpacked;
  }
  line_.decision = Decision::replayed;
  http::ResponseStart start;
  start.status = response.status;
  for (const Header& header : response.headers) start.add(header.name, header.value);
  add_idempotency_fields(start, stored.expires_at);
  start.add(replay_marker(route_.profile), "true");
  add_date(start);
  co_await exchange_.respond(start, body);
}

http::Task<void> ProtectedRequest::answer(Decision decision, AnswerCase answer_case,
                                          std::string_view detail,
                                          std::optional<DurationMs> retry_after_ms, int status) {
  line_.decision = decision;
  OwnAnswer own{answer_case, &route_, detail, retry_after_ms, status, echoed_key()};
  instance_ = co_await send_own_answer(context_, exchange_, own);
}

void ProtectedRequest::write_log() {
  const http::RequestHead& head = exchange_.head();
  line_.method = head.method;
  line_.path = head.path;
  line_.key = id_.key;
  line_.tenant = id_.scope;
  line_.trace_id = trace_.trace_id();
  line_.peer = exchange_.peer();
  line_.error = error_;
  line_.instance = instance_;
  line_.status = exchange_.status();
  line_.client_gone = !exchange_.client_reachable();
  line_.total_us = steady_now_us() - started_us_;
  if (line_.client_gone) context_.metrics.client_gone();
  context_.metrics.request(line_.decision, line_.status, to_seconds(line_.total_us));
  context_.requests.request(line_);
}

}  // namespace oncekey::gateway
