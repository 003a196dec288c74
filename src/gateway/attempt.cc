#include "gateway/attempt.h"

#include <algorithm>

#include "boundary/response_codec.h"
#include "gateway/retry_times.h"

namespace oncekey::gateway {

namespace {

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

int upstream_status(const DispatchResult& result) {
  return result.kind == DispatchResult::Kind::silence ? 0 : result.connection->head.status;
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

Verdict verdict_of(const Classification& classification, const DispatchResult& result,
                   const RouteConfig& route) {
  switch (classification.outcome) {
    case Outcome::completed:
      return SettleCompleted{keep(result, route)};
    case Outcome::failed_retryable:
      return SettleFailed{classification.reason};
    case Outcome::unknown:
      break;
  }
  return SettleUnknown{classification.reason, first_probe_in(route)};
}

}  // namespace

http::Task<Attempt> attempt(const Context& context, const RouteConfig& route, const RecordId& id,
                            const Execute& hold, const UpstreamRequest& request,
                            std::int64_t lease_over_us) {
  Attempt done;
  HeldKeys::Hold held(context.held_keys, id);
  std::int64_t begun_us = steady_now_us();
  {
    Heart heart(context, id, hold.fence, route.lease_ms);
    done.result = co_await dispatch(context, route, request, lease_over_us);
  }
  done.upstream_us = steady_now_us() - begun_us;
  context.metrics.upstream(to_seconds(done.upstream_us));

  done.classification = classify(done.result, route.on_5xx);
  done.outcome = name_of(done.classification.outcome);
  done.upstream_status = upstream_status(done.result);
  const AttemptResult result{verdict_of(done.classification, done.result, route),
                             done.upstream_status, route.retention_ms};
  begun_us = steady_now_us();
  done.settlement = co_await settle_within_patience(context, id, hold, result);
  done.settle_us = steady_now_us() - begun_us;
  context.metrics.settle(done.outcome, to_seconds(done.settle_us));
  context.signals.notify(id);
  co_return done;
}

}  // namespace oncekey::gateway
