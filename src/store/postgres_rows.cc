#include "store/postgres_rows.h"

#include "oncekey/assert.h"

namespace oncekey::store {
namespace {

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
    forms_.integer(form_of(*response));
    headers_.text(headers_literal(response->headers));
    bodies_.bytes(response->body);
  } else {
    add_no_answer();
  }
}

void SettleRows::add(const Heartbeat& heartbeat) {
  add(heartbeat.id, heartbeat.fence);
  only_completes_ = false;
  states_.text("in_progress");
  errors_.text("");
  delays_.big(heartbeat.lease_ms);
  add_no_answer();
}

void SettleRows::add_no_answer() {
  for (auto* column : {&forms_, &headers_, &bodies_}) column->null();
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
  parameters.array(forms_, Element::int4);
  parameters.array_or_first(headers_, Element::text);
  parameters.array(bodies_, Element::bytea);
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
  parameters.array(forms_, Element::int4);
  parameters.array(headers_, Element::text);
  parameters.array(bodies_, Element::bytea);
  parameters.array(places_, Element::tid);
  return parameters;
}

}  // namespace oncekey::store
