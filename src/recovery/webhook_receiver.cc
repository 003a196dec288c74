#include "recovery/webhook_receiver.h"

#include <algorithm>

#include "oncekey/derived_key.h"

namespace oncekey::recovery {
namespace {

constexpr DurationMs retry_store_ms = 5'000;
constexpr DurationMs retry_in_progress_min_ms = 1'000;
constexpr DurationMs retry_in_progress_max_ms = 60'000;
constexpr DurationMs take_back_lease_ms = 30'000;
constexpr std::size_t page_size = 500;
// A record may change between the look and the change; who loses that race looks again.
constexpr int looks_max = 4;

}  // namespace

WebhookReply WebhookReceiver::receive(const outbox::ReceivedWebhook& received) {
  const outbox::WebhookCheck check =
      outbox::verify_webhook(parts_.secrets, received, parts_.clock() / 1'000, parts_.tolerance_s);
  if (check != outbox::WebhookCheck::good) {
    ++counts_.refused;
    return {401, 0, to_string(check)};
  }
  const WebhookReading reading = read_webhook(parts_.rules, received.payload);
  if (std::holds_alternative<WebhookUnreadable>(reading)) {
    ++counts_.refused;
    return {400, 0, "not readable"};
  }
  const auto* event = std::get_if<WebhookEvent>(&reading);
  if (!event) {
    ++counts_.ignored;
    return {200, 0, "ignored"};
  }
  RecordId id = event->id;
  if (!event->derived.empty()) {
    const auto found = find_derived(event->derived);
    if (!found) return unavailable();
    if (!*found) {
      ++counts_.not_found;
      return {200, 0, "no such record"};
    }
    id = **found;
  }
  return settle(id, *event);
}

WebhookReply WebhookReceiver::settle(const RecordId& id, const WebhookEvent& event) {
  for (int look = 0; look < looks_max; ++look) {
    const auto found = get(id);
    if (!found) return unavailable();
    if (!*found) {
      ++counts_.not_found;
      return {200, 0, "no such record"};
    }
    const Record& record = **found;
    bool settled = false;
    switch (record.state) {
      case State::completed:
      case State::expired:
        ++counts_.settled_before;
        return {200, 0, "settled before"};
      case State::in_progress: {
        ++counts_.in_progress;
        const DurationMs rest_ms = record.locked_until - parts_.clock();
        return {503, std::clamp(rest_ms, retry_in_progress_min_ms, retry_in_progress_max_ms),
                "in progress"};
      }
      case State::unknown:
        settled = resolve(record, event);
        break;
      case State::failed_retryable:
        // A workflow goes on by itself, and asks the provider under the same derived key.
        if (!record.recovery_point.empty()) {
          ++counts_.settled_before;
          return {200, 0, "left to its workflow"};
        }
        settled = take_back(record, event);
        break;
    }
    if (settled) {
      ++counts_.completed;
      return {200, 0, "completed"};
    }
  }
  return unavailable();
}

bool WebhookReceiver::resolve(const Record& record, const WebhookEvent& event) {
  Resolve resolve;
  resolve.id = record.id;
  resolve.fence = record.fence;
  resolve.verdict = SettleCompleted{event.response};
  resolve.by = "webhook";
  resolve.reason = "the provider reported it as executed";
  Operation operation = std::move(resolve);
  parts_.committer.apply_now(operation);
  return std::holds_alternative<Settled>(std::get<Resolve>(operation).outcome);
}

// It was taken for not executed, and it was: reserved like a retry, so that no retry can run, and
// settled with what the provider says.
bool WebhookReceiver::take_back(const Record& record, const WebhookEvent& event) {
  Reserve reserve;
  reserve.id = record.id;
  reserve.fingerprint = record.fingerprint;
  reserve.lease_ms = take_back_lease_ms;
  reserve.retention_ms = record.retention_ms;
  reserve.tombstone_ms = record.tombstone_ms;
  reserve.method = record.method;
  reserve.path = record.path;
  reserve.owner = "webhook";
  Operation operation = std::move(reserve);
  parts_.committer.apply_now(operation);
  const auto* held = std::get_if<Execute>(&std::get<Reserve>(operation).outcome);
  if (!held) return false;
  Settle settle;
  settle.id = record.id;
  settle.fence = held->fence;
  settle.verdict = SettleCompleted{event.response};
  operation = std::move(settle);
  parts_.committer.apply_now(operation);
  return std::holds_alternative<Settled>(std::get<Settle>(operation).outcome);
}

std::optional<std::optional<Record>> WebhookReceiver::get(const RecordId& id) {
  Get get;
  get.id = id;
  Operation operation = std::move(get);
  parts_.committer.apply_now(operation);
  auto* found = std::get_if<std::optional<Record>>(&std::get<Get>(operation).outcome);
  if (!found) return std::nullopt;
  return std::move(*found);
}

std::optional<std::optional<RecordId>> WebhookReceiver::find_derived(const std::string& derived) {
  std::size_t searched = 0;
  for (const State state : {State::unknown, State::in_progress, State::failed_retryable}) {
    std::optional<RecordId> after;
    for (bool more = true; more && searched < derived_search_max;) {
      List list;
      list.state = state;
      list.after = after;
      list.limit = page_size;
      Operation operation = std::move(list);
      parts_.committer.apply_now(operation);
      const auto* page = std::get_if<std::vector<Record>>(&std::get<List>(operation).outcome);
      if (!page) return std::nullopt;
      for (const Record& record : *page) {
        if (derive_key(record.id, parts_.rules.phase) == derived) return std::optional(record.id);
      }
      searched += page->size();
      more = page->size() == page_size;
      if (more) after = page->back().id;
    }
  }
  return std::optional<RecordId>();
}

WebhookReply WebhookReceiver::unavailable() {
  ++counts_.store_errors;
  return {503, retry_store_ms, "store unavailable"};
}

}  // namespace oncekey::recovery
