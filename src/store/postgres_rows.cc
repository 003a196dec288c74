#include "store/postgres_rows.h"

#include <algorithm>

#include "oncekey/assert.h"

namespace oncekey::store {
namespace {

using Array = PostgresParameters::Array;
using Element = PostgresParameters::Element;
using transaction::delay_of;
using transaction::error_of;
using transaction::headers_literal;
using transaction::response_of;

// An answer's status, schema and encoding as the statements take them: a column less to pass is
// worth more to the server than what it takes to tell them apart again.
std::int32_t form_of(const StoredResponse& response) {
  const int encoding = static_cast<int>(response.body_encoding);
  ONCEKEY_ASSERT(response.status >= 0 && response.status <= 0xffff && encoding <= 0x7f);
  return encoding << 24 | response.schema_version << 16 | response.status;
}

}  // namespace

const StoredResponse* SettleRows::Row::response() const {
  return settle != nullptr ? response_of(settle->verdict) : nullptr;
}

void SettleRows::add(const Operation& operation, const std::optional<PostgresPlace>& place) {
  const auto* settle = std::get_if<Settle>(&operation);
  const auto* heartbeat = std::get_if<Heartbeat>(&operation);
  ONCEKEY_ASSERT(settle != nullptr || heartbeat != nullptr);
  rows_.push_back({settle, heartbeat, &place});
  if (settle == nullptr || !std::holds_alternative<SettleCompleted>(settle->verdict) || !place) {
    only_completes_ = false;
  }
}

PostgresParameters SettleRows::to_complete() const {
  PostgresParameters parameters;
  append_keys(parameters);
  append_answers(parameters, headers());
  append_places(parameters);
  return parameters;
}

PostgresParameters SettleRows::to_settle() const {
  PostgresParameters parameters;
  Array scopes, states, errors, delays;
  for (const Row& row : rows_) {
    scopes.text(to_postgres_text(row.id().scope));
    states.text(row.settle != nullptr ? state_name(row.settle->verdict) : "in_progress");
    errors.text(row.settle != nullptr ? error_of(row.settle->verdict) : "");
    delays.big(row.settle != nullptr ? delay_of(row.settle->verdict) : row.heartbeat->lease_ms);
  }
  parameters.array(scopes, Element::text);
  append_keys(parameters);
  parameters.array(states, Element::text);
  parameters.array(errors, Element::text);
  parameters.array(delays, Element::int8);
  append_answers(parameters, Headers::of_each);
  append_places(parameters);
  return parameters;
}

void SettleRows::append_keys(PostgresParameters& parameters) const {
  Array keys, fences;
  for (const Row& row : rows_) {
    keys.text(to_postgres_text(row.id().key));
    fences.big(static_cast<std::int64_t>(row.fence()));
  }
  parameters.array(keys, Element::text);
  parameters.array(fences, Element::int8);
}

SettleRows::Headers SettleRows::headers() const {
  const StoredResponse* const first = rows_.empty() ? nullptr : rows_.front().response();
  const bool all_agree =
      first != nullptr && std::all_of(rows_.begin(), rows_.end(), [&](auto& row) {
        const StoredResponse* const response = row.response();
        return response != nullptr && response->headers == first->headers;
      });
  return all_agree ? Headers::once : Headers::of_each;
}

void SettleRows::append_answers(PostgresParameters& parameters, Headers headers) const {
  Array forms, literals, bodies;
  for (const Row& row : rows_) {
    const StoredResponse* const response = row.response();
    const bool has_literal = headers == Headers::of_each || literals.size() == 0;
    if (response == nullptr) {
      for (Array* column : {&forms, &literals, &bodies}) column->null();
      continue;
    }
    forms.integer(form_of(*response));
    if (has_literal) literals.text(headers_literal(response->headers));
    bodies.bytes(response->body);
  }
  parameters.array(forms, Element::int4);
  parameters.array(literals, Element::text);
  parameters.array(bodies, Element::bytea);
}

void SettleRows::append_places(PostgresParameters& parameters) const {
  Array places;
  for (const Row& row : rows_) {
    if (*row.place) {
      places.bytes(**row.place);
    } else {
      places.null();
    }
  }
  parameters.array(places, Element::tid);
}

}  // namespace oncekey::store
