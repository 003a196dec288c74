#include "gateway/protected_request.h"

#include <algorithm>

#include "boundary/body_key.h"
#include "boundary/response_codec.h"
#include "gateway/key_status.h"
#include "gateway/own_answer.h"
#include "gateway/relay.h"
#include "gateway/replay.h"
#include "gateway/retry_times.h"
#include "gateway/unprotected.h"

namespace oncekey::gateway {

namespace {

// A waiting duplicate also asks the store this often: another node may have settled the record.
constexpr DurationMs wait_poll_ms = 250;

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

}  // namespace

ProtectedRequest::ProtectedRequest(const Context& context, http::Exchange& exchange,
                                   const Route& route)
    : context_(context), exchange_(exchange), route_(route.config), started_us_(steady_now_us()) {
  const http::Field* traceparent = exchange.head().find(http::FieldId::traceparent);
  std::optional<std::string_view> sent;
  if (traceparent) sent = traceparent->value;
  trace_ = keep_or_start_trace(sent);
  context.requests.begin_spans(trace_);
}

http::Task<bool> ProtectedRequest::run() {
  KeyFound found = find_key();
  if (found == KeyFound::absent) co_return false;
  if (!refused()) find_tenant();
  if (!refused()) find_age();
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

// Too old is no refusal yet: an answer that is stored may still be repeated.
void ProtectedRequest::find_age() {
  age_ = judge_age(exchange_.head(), route_, wall_now_ms());
  if (age_.verdict == RequestAge::Verdict::missing) {
    refusal_ = Refusal{AnswerCase::first_sent_invalid,
                       "Send the header " + route_.age_header +
                           " with the time when this request was first sent, as an HTTP-date or "
                           "as RFC 3339 has it, and the same value in every retry. Nothing was "
                           "executed."};
  } else if (age_.verdict == RequestAge::Verdict::invalid) {
    refusal_ = Refusal{AnswerCase::first_sent_invalid,
                       "The header " + route_.age_header +
                           " must be there once, as an HTTP-date or as RFC 3339 has it. Nothing "
                           "was executed."};
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
  input.first_sent = age_.first_sent;
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
  const Admission::Request new_key{id_, tenant_, fingerprint_, age_};
  Admission admission(context_, route_, new_key);
  const Admission::Verdict admitted = co_await admission.ask();
  if (admitted == Admission::Verdict::refused) {
    co_await answer(Decision::limited, admission.answer_case(), {}, admission.retry_after());
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
    admission.settle(outcome);
    // Who is told that an outcome is unknown is not told another one later without anybody's doing.
    if (auto* over = std::get_if<OutcomeUnknown>(&outcome); over && over->owner_may_settle) {
      const InFlight until_swept{over->attempt, over->reconcile_after};
      outcome = until_swept;
    }
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
    auto* execution = std::get_if<Execute>(&outcome);
    if (execution && !admission.may_execute(*execution)) {
      give_back(*execution);  // its record was settled or forgotten since it was looked at
      if (admission.is_uncounted()) {
        co_await answer(Decision::unavailable, AnswerCase::store_unavailable, {}, retry_store_ms);
      } else {
        co_await answer(Decision::limited, admission.answer_case(), {}, admission.retry_after());
      }
    } else if (execution) {
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
      const DurationMs wait_ms = unknown->reconcile_after - unknown->decided_at;
      const DurationMs retry_ms = retry_unknown_in(&route_, wait_ms);
      co_await answer(Decision::unknown, AnswerCase::outcome_unknown, {}, retry_ms);
    } else if (std::holds_alternative<Expired>(outcome)) {
      context_.metrics.duplicate(id_.scope);
      co_await answer(Decision::expired, AnswerCase::result_expired);
    } else if (auto old = context_.cache.find_old(id_, context_.loop.now());
               old && old->fingerprint == fingerprint_) {
      // What the store last said is all there is, and a replay executes nothing.
      context_.metrics.store_error();
      context_.metrics.cache_replay();
      co_await replay(old->replay);
    } else {
      const Unavailable& why = std::get<Unavailable>(outcome);
      error_ = why.reason;
      context_.metrics.store_error();
      // Never for a key that is known to be in use, nor while the store is there for others.
      const bool in_use = why.in_use || why.store_serves || seen_in_flight || old;
      const bool willing = route_.fail_open && !in_use && admission.may_execute_unprotected();
      std::optional<HeldKeys::Hold> alone =
          willing ? context_.held_keys.hold_alone(id_) : std::nullopt;
      if (alone) {
        admission.ran_unprotected();
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

void ProtectedRequest::give_back(const Execute& hold) {
  context_.gate.give_back(
      id_, hold.fence,
      "not dispatched: the request is too old, its route is paused, or a limit is reached");
}

http::Task<void> ProtectedRequest::execute(Execute hold, std::int64_t lease_over_us) {
  line_.attempt = hold.attempt;
  line_.upstream_after_us = steady_now_us() - started_us_;
  ForwardedKey key{route_.key_header, echoed_key(), hold.attempt};
  ForwardContext forward{context_.config, context_.base_path, trace_.traceparent, &key, false};
  std::string head = upstream_head(exchange_, forward, body_.size());
  const AsyncWish wish = async_wish(exchange_.head(), route_);
  // Without an end to it, clients that do not wait could have any number of requests running.
  const bool room_for_later = context_.running <= context_.config.limits.connections;
  if (wish.patience_ms && room_for_later) {
    const std::string_view method = exchange_.head().method;
    auto later = std::make_shared<LaterAttempt>(LaterAttempt{context_, route_, id_, hold,
                                                             std::move(head), std::string(method),
                                                             std::move(body_), lease_over_us});
    start_later(later);
    const bool done = co_await wait_for_later(*later, *wish.patience_ms);
    if (done) {
      co_await answer_attempt(later->attempt);
    } else {
      co_await accept(hold, wish.preferred);
    }
    co_return;
  }
  const UpstreamRequest request{head, exchange_.head().method, body_};
  Attempt done = co_await attempt(context_, route_, id_, hold, request, lease_over_us);
  co_await answer_attempt(done);
}

// The reservation is durable, and the attempt goes on by itself.
http::Task<void> ProtectedRequest::accept(const Execute& hold, bool preferred) {
  line_.decision = Decision::accepted;
  Record record;
  record.id = id_;
  record.attempt = hold.attempt;
  http::ResponseStart start;
  start.status = 202;
  const std::string query = key_status_query(context_, id_.scope);
  start.add("Location", key_status_path(id_.key) + query);
  start.add("Content-Type", "application/json");
  if (preferred) start.add("Preference-Applied", "respond-async");
  add_status_fields(start, retry_in_flight_ms);
  add_idempotency_fields(start, 0);
  add_date(start);
  const std::string body = key_status_json(record, retry_in_flight_ms, query);
  co_await exchange_.respond(start, body);
}

http::Task<void> ProtectedRequest::answer_attempt(Attempt& done) {
  line_.upstream_us = done.upstream_us;
  line_.settle_us = done.settle_us;
  line_.outcome = done.outcome;
  line_.decision = Decision::executed;
  error_ = done.classification.reason;
  DispatchResult& result = done.result;
  if (done.settlement.kind != Settlement::Kind::settled) {
    line_.upstream_status = done.upstream_status;
  }
  switch (done.settlement.kind) {
    case Settlement::Kind::settled:
      break;
    case Settlement::Kind::stale:
      error_ = "settled too late: " + done.settlement.error;
      co_await answer(Decision::unknown, AnswerCase::outcome_unknown, {}, retry_unknown_ms);
      co_return;
    case Settlement::Kind::pending:
      error_ = done.settlement.error;
      co_await answer(
          Decision::unavailable, AnswerCase::store_unavailable,
          "The outcome of the request could not be recorded yet; it is being tried further. "
          "Ask again with the same key.",
          retry_store_ms);
      co_return;
  }
  if (result.kind != DispatchResult::Kind::silence) {
    http::ResponseStart start = relayed_start(result, route_.key_header);
    add_idempotency_fields(start, done.settlement.expires_at);
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
        first_probe_in(route_), status);
  }
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
    co_await answer(Decision::expired, AnswerCase::result_not_kept);
    co_return;
  }
  const StoredResponse& response = *stored.response;
  ReplayedAnswer readable;
  if (!readable.read(response, error_)) {
    co_await answer(Decision::unavailable, AnswerCase::result_unreadable);
    co_return;
  }
  line_.decision = Decision::replayed;
  http::ResponseStart start;
  start.status = response.status;
  for (const Header& header : response.headers) {
    // An application that shares the store may have kept all of its own.
    if (replayable_header(header.name)) start.add(header.name, header.value);
  }
  add_idempotency_fields(start, stored.expires_at);
  start.add(replay_marker(route_.profile), "true");
  add_date(start);
  co_await exchange_.respond(start, readable.body());
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
  line_.route = route_.match;
  line_.trace_id = trace_.trace_id();
  line_.peer = exchange_.peer();
  line_.error = error_;
  line_.instance = instance_;
  line_.status = exchange_.status();
  line_.client_gone = !exchange_.client_reachable();
  line_.total_us = steady_now_us() - started_us_;
  if (line_.client_gone) context_.metrics.client_gone();
  context_.metrics.request(line_.decision, line_.status, to_seconds(line_.total_us));
  context_.requests.request(line_, trace_);
}

}  // namespace oncekey::gateway
