#include "store/postgres_rows.h"

namespace oncekey::store {
namespace {

using Element = PostgresParameters::Element;
using transaction::delay_of;
using transaction::error_of;
using transaction::headers_literal;
using transaction::response_of;

}  // namespace

void SettleRows::add(const RecordId& id, Fence fence) {
  scopes_.text(to_postgres_text(id.scope));
  keys_.text(to_postgres_text(id.key));
  fences_.big(static_cast<std::int64_t>(fence));
}

void SettleRows::add(const Settle& settle) {
  add(settle.id, settle.fence);
  if (!std::holds_alternative<SettleCompleted>(settle.verdict)) only_completes_ = false;
  states_.text(state_name(settle.verdict));
  errors_.text(error_of(settle.verdict));
  delays_.big(delay_of(settle.verdict));
  if (const StoredResponse* response = response_of(settle.verdict)) {
    statuses_.integer(response->status);
    schemas_.small(response->schema_version);
    encodings_.small(static_cast<std::int16_t>(response->body_encoding));
    headers_.text(headers_literal(response->headers));
    bodies_.bytes(response->body);
  } else {
    for (auto* column : {&statuses_, &schemas_, &encodings_, &headers_, &bodies_}) column->null();
  }
}

void SettleRows::add(const Heartbeat& heartbeat) {
  add(heartbeat.id, heartbeat.fence);
  only_completes_ = false;
  states_.text("in_progress");
  errors_.text("");
  delays_.big(heartbeat.lease_ms);
  for (auto* column : {&statuses_, &schemas_, &encodings_, &headers_, &bodies_}) column->null();
}

void SettleRows::add_place(const std::optional<PostgresPlace>& place) {
  if (place) {
    places_.bytes(*place);
  } else {
    places_.null();
    only_completes_ = false;
  }
}

PostgresParameters SettleRows::to_complete() const {
  PostgresParameters parameters;
  parameters.array(keys_, Element::text);
  parameters.array(fences_, Element::int8);
  append_answers(parameters);
  parameters.array(places_, Element::tid);
  return parameters;
}

PostgresParameters SettleRows::to_settle() const {
  PostgresParameters parameters;
  parameters.array(scopes_, Element::text);
  parameters.array(keys_, Element::text);
  parameters.array(fences_, Element::int8);
  parameters.array(states_, Element::text);
  parameters.array(errors_, Element::text);
  parameters.array(delays_, Element::int8);
  append_answers(parameters);
  parameters.array(places_, Element::tid);
  return parameters;
}

void SettleRows::append_answers(PostgresParameters& parameters) const {
  parameters.array(statuses_, Element::int4);
  parameters.array(schemas_, Element::int2);
  parameters.array(encodings_, Element::int2);
  parameters.array(headers_, Element::text);
  parameters.array(bodies_, Element::bytea);
}

}  // namespace oncekey::store
