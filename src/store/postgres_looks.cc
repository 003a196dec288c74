// What a batch only looks at: records that somebody asks for, and those that its reservations
// repeat.
#include <algorithm>
#include <map>

#include "boundary/decide.h"
#include "boundary/execution.h"
#include "store/postgres.h"
#include "store/postgres_rows.h"

namespace oncekey::store {
namespace {

// In one statement: their answers may be large, and all of them have to come in time.
constexpr std::size_t looks_max = 64;

}  // namespace

void PostgresEngine::repeat_all(std::vector<Reserve*> repeats, Deadline deadline) {
  std::vector<Get> looks(repeats.size());
  std::vector<Get*> gets;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    looks[i].id = repeats[i]->id;
    gets.push_back(&looks[i]);
  }
  get_all(gets, deadline);
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    Reserve& reserve = *repeats[i];
    if (is_held(reserve)) continue;
    if (const auto* why = std::get_if<Unavailable>(&looks[i].outcome)) {
      Unavailable in_use = *why;
      in_use.in_use = true;  // by the reservation of this batch that it repeats
      reserve.outcome = std::move(in_use);
      continue;
    }
    const auto& record = std::get<std::optional<Record>>(looks[i].outcome);
    const Fence fence = fences_.next();
    ReserveDecision decision;
    if (record) decision = decide_reserve(&*record, reserve, record->read_at, fence);
    if (!record || decision.next) {
      reserve_alone(reserve, fence, false, deadline);
    } else {
      reserve.outcome = std::move(decision.outcome);
    }
  }
}

void PostgresEngine::get_all(const std::vector<Get*>& gets, Deadline deadline) {
  // Many ask for the same record when they wait for it: it comes once.
  std::map<RecordId, std::vector<Get*>> asking;
  for (Get* const get : gets) asking[get->id].push_back(get);
  std::vector<std::vector<Get*>> of_one;
  for (auto& [id, those] : asking) of_one.push_back(std::move(those));
  const std::span<const std::vector<Get*>> all(of_one);
  for (std::size_t begin = 0; begin < all.size(); begin += looks_max) {
    get_some(all.subspan(begin, std::min(looks_max, all.size() - begin)), deadline);
  }
}

void PostgresEngine::get_some(std::span<const std::vector<Get*>> of_one, Deadline deadline) {
  using Element = PostgresParameters::Element;
  PostgresParameters::Array scopes, keys;
  for (const std::vector<Get*>& gets : of_one) {
    scopes.text(to_postgres_text(gets.front()->id.scope));
    keys.text(to_postgres_text(gets.front()->id.key));
  }
  PostgresParameters parameters;
  parameters.array(scopes, Element::text);
  parameters.array(keys, Element::text);
  static const std::string sql =
      std::string(
          "SELECT w.number, m.now, r.response_status, r.response_schema, "
          "r.response_encoding, r.response_headers, r.response_body, ") +
      postgres_record_columns +
      " FROM (SELECT oncekey.clock() AS now OFFSET 0) m, unnest($1::text[], $2::text[])"
      " WITH ORDINALITY AS w (scope, key, number) CROSS JOIN LATERAL (SELECT found.* FROM"
      " oncekey.records found WHERE found.scope = w.scope AND found.key = w.key OFFSET 0) r";
  auto rows = call("oncekey_get", sql, parameters, deadline);
  std::vector<decltype(Get::outcome)> found(of_one.size());
  for (decltype(Get::outcome)& outcome : found) {
    if (rows) {
      outcome = std::optional<Record>();
    } else {
      outcome = unavailable(rows.error());
    }
  }
  for (int row = 0; rows && row < rows->rows(); ++row) {
    const TimestampMs moment = rows->timestamp(row, 1);
    Record record = record_from(*rows, row, 7);
    if (is_gone(record, moment)) continue;
    record.response = response_from(*rows, row, 2);
    age(record, moment);
    found[static_cast<std::size_t>(rows->integer(row, 0) - 1)] = std::move(record);
  }
  for (std::size_t i = 0; i < of_one.size(); ++i) {
    for (Get* const get : of_one[i]) get->outcome = found[i];
  }
}

}  // namespace oncekey::store
