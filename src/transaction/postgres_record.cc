#include "transaction/postgres_record.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "boundary/decide.h"
#include "oncekey/assert.h"
#include "transaction/postgres_text.h"

namespace oncekey::transaction {
namespace {

std::string text_at(const PostgresResult& rows, int row, int column) {
  return from_postgres_text(rows.bytes(row, column));
}

TimestampMs number_from(std::string_view text) {
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// As oncekey.history_entry() makes them.
std::vector<Transition> history_from_array(std::string_view binary) {
  constexpr std::size_t width = 6;
  const std::vector<std::string_view> texts = array_elements(binary);
  std::vector<Transition> history;
  for (std::size_t i = 0; i + width <= texts.size(); i += width) {
    Transition entry;
    entry.dropped = static_cast<std::uint32_t>(number_from(texts[i]));
    entry.at = number_from(texts[i + 1]);
    entry.state = state_from_name(texts[i + 2]).value_or(State::unknown);
    entry.attempt = static_cast<std::uint32_t>(number_from(texts[i + 3]));
    entry.by = from_postgres_text(texts[i + 4]);
    entry.reason = from_postgres_text(texts[i + 5]);
    history.push_back(std::move(entry));
  }
  return history;
}

}  // namespace

const StoredResponse* response_of(const Verdict& verdict) {
  const auto* completed = std::get_if<SettleCompleted>(&verdict);
  return completed == nullptr ? nullptr : completed->response.get();
}

std::string error_of(const Verdict& verdict) {
  if (const auto* failed = std::get_if<SettleFailed>(&verdict)) {
    return to_postgres_text(failed->error);
  }
  if (const auto* unknown = std::get_if<SettleUnknown>(&verdict)) {
    return to_postgres_text(unknown->error);
  }
  return {};
}

DurationMs delay_of(const Verdict& verdict) {
  const auto* unknown = std::get_if<SettleUnknown>(&verdict);
  return unknown == nullptr ? 0 : unknown->reconcile_in_ms;
}

void append_verdict(PostgresParameters& parameters, const Verdict& verdict) {
  parameters.text(state_name(verdict));
  parameters.text(error_of(verdict));
  parameters.integer(delay_of(verdict));
  if (const StoredResponse* response = response_of(verdict)) {
    parameters.integer(response->status);
    parameters.integer(response->schema_version);
    parameters.integer(static_cast<std::int64_t>(response->body_encoding));
    parameters.text(headers_literal(response->headers));
    parameters.bytes(response->body);
  } else {
    for (int i = 0; i < 5; ++i) parameters.null();
  }
}

std::string_view state_name(const Verdict& verdict) {
  if (std::holds_alternative<SettleCompleted>(verdict)) return "completed";
  return std::holds_alternative<SettleFailed>(verdict) ? "failed_retryable" : "unknown";
}

std::optional<State> state_from_name(std::string_view name) {
  for (const State state : {State::in_progress, State::completed, State::failed_retryable,
                            State::unknown, State::expired}) {
    if (to_string(state) == name) return state;
  }
  return std::nullopt;
}

std::string fingerprint_bytes(const Fingerprint& fingerprint) {
  std::string bytes(1, static_cast<char>(fingerprint.version));
  bytes.append(fingerprint.digest.begin(), fingerprint.digest.end());
  return bytes;
}

Fingerprint fingerprint_from(std::string_view bytes) {
  Fingerprint fingerprint;
  // One of another length was stored by an application, and is equal to none of ours.
  if (bytes.size() != 1 + fingerprint.digest.size()) return fingerprint;
  fingerprint.version = static_cast<std::uint8_t>(bytes[0]);
  std::copy(bytes.begin() + 1, bytes.end(), fingerprint.digest.begin());
  return fingerprint;
}

void set_due(Record& record, TimestampMs due_at) {
  if (record.state == State::in_progress) {
    record.locked_until = due_at;
  } else if (record.state == State::unknown) {
    record.reconcile_after = due_at;
  } else {
    record.expires_at = due_at;
  }
}

std::shared_ptr<const StoredResponse> response_from(const PostgresResult& rows, int row,
                                                    int first) {
  if (rows.is_null(row, first)) return nullptr;
  auto response = std::make_shared<StoredResponse>();
  response->status = static_cast<int>(rows.integer(row, first));
  response->schema_version = static_cast<std::uint8_t>(rows.integer(row, first + 1));
  response->body_encoding = static_cast<BodyEncoding>(rows.integer(row, first + 2));
  response->headers = headers_from_array(rows.bytes(row, first + 3));
  response->body = rows.bytes(row, first + 4);
  return response;
}

const char* const postgres_record_columns =
    "r.state::text, r.due_at, r.scope, r.key, r.fingerprint, r.attempt, r.fence, r.method, r.path, "
    "r.owner, r.recovery_point, r.last_error, r.retention_ms, r.tombstone_ms, r.created_at, "
    "r.completed_at, r.history";

Record record_from(const PostgresResult& rows, int row, int first) {
  Record record;
  const auto state = state_from_name(rows.bytes(row, first));
  ONCEKEY_ASSERT(state.has_value());
  record.state = *state;
  set_due(record, rows.timestamp(row, first + 1));
  record.id = {text_at(rows, row, first + 2), text_at(rows, row, first + 3)};
  record.fingerprint = fingerprint_from(rows.bytes(row, first + 4));
  record.attempt = static_cast<std::uint32_t>(rows.integer(row, first + 5));
  record.fence = static_cast<Fence>(rows.integer(row, first + 6));
  record.method = text_at(rows, row, first + 7);
  record.path = text_at(rows, row, first + 8);
  record.owner = text_at(rows, row, first + 9);
  record.recovery_point = text_at(rows, row, first + 10);
  record.last_error = text_at(rows, row, first + 11);
  record.retention_ms = rows.integer(row, first + 12);
  record.tombstone_ms = rows.integer(row, first + 13);
  record.created_at = rows.timestamp(row, first + 14);
  record.completed_at = rows.timestamp(row, first + 15);
  if (!rows.is_null(row, first + 16)) {
    record.history = history_from_array(rows.bytes(row, first + 16));
  }
  return record;
}

StaleFence stale_fence(std::string_view state, TimestampMs due_at, DurationMs tombstone_ms,
                       TimestampMs moment) {
  const auto known = state_from_name(state);
  if (!known) return {};
  Record record;
  record.state = *known;
  record.tombstone_ms = tombstone_ms;
  set_due(record, due_at);
  if (is_gone(record, moment)) return {};
  age(record, moment);
  return {.state = record.state};
}

}  // namespace oncekey::transaction
