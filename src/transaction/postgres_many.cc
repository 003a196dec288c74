// Many operations of one transaction as single statements over arrays:
// src/store/sql/0006_groups.sql.
#include <algorithm>
#include <map>
#include <numeric>

#include "transaction/arguments.h"
#include "transaction/postgres_record.h"
#include "transaction/postgres_reserve_rows.h"
#include "transaction/postgres_text.h"
#include "transaction/postgres_transaction.h"

namespace oncekey::transaction {
namespace {

using Array = PostgresParameters::Array;
using Element = PostgresParameters::Element;

constexpr PostgresStatement reserve_statement{
    "oncekey_join_reserve_group",
    "SELECT fence, due_at FROM oncekey.reserve_group($1::text[], $2::text[], $3::bytea[],"
    " $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[], $9::text[],"
    " $10::text[])"};
constexpr PostgresStatement complete_statement{
    "oncekey_join_complete_group",
    "SELECT fence, due_at FROM oncekey.complete_group($1::text[], $2::text[], $3::bigint[],"
    " $4::integer[], $5::smallint[], $6::smallint[], $7::text[], $8::bytea[])"};
constexpr PostgresStatement enqueue_statement{
    "oncekey_join_enqueue_group",
    "SELECT oncekey.enqueue_group($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[])"};

const StoredResponse* answer_of(const Settle& settle) {
  const auto* completed = std::get_if<SettleCompleted>(&settle.verdict);
  return completed != nullptr ? completed->response.get() : nullptr;
}

}  // namespace

std::vector<ReserveOutcome> PostgresTransaction::reserve_all(std::span<const Reserve> reserves) {
  std::vector<std::size_t> sorted(reserves.size());
  std::iota(sorted.begin(), sorted.end(), 0);
  std::sort(sorted.begin(), sorted.end(),
            [&](std::size_t a, std::size_t b) { return reserves[a].id < reserves[b].id; });
  ReserveRows reservations;
  std::map<Fence, std::size_t> asked;
  for (const std::size_t i : sorted) {
    check_reserve(reserves[i]);
    const Fence fence = fences_.next();
    asked.emplace(fence, i);
    reservations.add(reserves[i], fence);
  }
  PostgresParameters parameters;
  reservations.append_to(parameters);
  statements_.check_open();
  const PostgresResult rows = statements_.call(reserve_statement, parameters);
  std::vector<ReserveOutcome> outcomes(reserves.size());
  for (int row = 0; row < rows.rows(); ++row) {
    const auto fence = static_cast<Fence>(rows.integer(row, 0));
    const auto found = asked.find(fence);
    if (found == asked.end()) continue;
    outcomes[found->second] = Execute{fence, 1, rows.timestamp(row, 1)};
    asked.erase(found);
  }
  for (const auto& [fence, i] : asked) outcomes[i] = reserve(reserves[i]);
  return outcomes;
}

std::vector<SettleOutcome> PostgresTransaction::settle_all(std::span<const Settle> settles) {
  Array scopes, keys, fences, statuses, schemas, encodings, headers, bodies;
  std::map<Fence, std::size_t> asked;
  std::vector<std::size_t> alone;
  for (std::size_t i = 0; i < settles.size(); ++i) {
    const StoredResponse* const answer = answer_of(settles[i]);
    if (answer == nullptr) {
      alone.push_back(i);
      continue;
    }
    asked.emplace(settles[i].fence, i);
    scopes.text(to_postgres_text(settles[i].id.scope));
    keys.text(to_postgres_text(settles[i].id.key));
    fences.big(static_cast<std::int64_t>(settles[i].fence));
    statuses.integer(answer->status);
    schemas.small(answer->schema_version);
    encodings.small(static_cast<std::int16_t>(answer->body_encoding));
    headers.text(headers_literal(answer->headers));
    bodies.bytes(answer->body);
  }
  PostgresParameters parameters;
  parameters.array(scopes, Element::text);
  parameters.array(keys, Element::text);
  parameters.array(fences, Element::int8);
  parameters.array(statuses, Element::int4);
  parameters.array(schemas, Element::int2);
  parameters.array(encodings, Element::int2);
  parameters.array(headers, Element::text);
  parameters.array(bodies, Element::bytea);
  statements_.check_open();
  const PostgresResult rows = statements_.call(complete_statement, parameters);
  std::vector<SettleOutcome> outcomes(settles.size());
  for (int row = 0; row < rows.rows(); ++row) {
    const auto found = asked.find(static_cast<Fence>(rows.integer(row, 0)));
    if (found == asked.end()) continue;
    outcomes[found->second] = Settled{rows.timestamp(row, 1)};
    asked.erase(found);
  }
  for (const auto& [fence, i] : asked) alone.push_back(i);
  for (const std::size_t i : alone) outcomes[i] = settle(settles[i]);
  return outcomes;
}

void PostgresTransaction::enqueue_all(std::span<const Message> messages) {
  if (messages.empty()) return;
  Array destinations, payloads, keys, aggregates, headers;
  for (const Message& message : messages) {
    check_message(message);
    destinations.text(to_postgres_text(message.destination));
    payloads.bytes(message.payload);
    keys.text(to_postgres_text(message.message_key));
    aggregates.text(to_postgres_text(message.aggregate));
    headers.text(headers_literal(message.headers));
  }
  PostgresParameters parameters;
  parameters.array(destinations, Element::text);
  parameters.array(payloads, Element::bytea);
  parameters.array(keys, Element::text);
  parameters.array(aggregates, Element::text);
  parameters.array(headers, Element::text);
  statements_.check_open();
  statements_.call(enqueue_statement, parameters);
}

}  // namespace oncekey::transaction
