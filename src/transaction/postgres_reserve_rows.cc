#include "transaction/postgres_reserve_rows.h"

#include <algorithm>

#include "transaction/postgres_record.h"
#include "transaction/postgres_text.h"

namespace oncekey::transaction {
namespace {

using Array = PostgresParameters::Array;
using Element = PostgresParameters::Element;

}  // namespace

template <class Get>
std::size_t ReserveRows::elements(Columns columns, const Get& get) const {
  const bool all_agree =
      columns == Columns::brief && std::all_of(rows_.begin(), rows_.end(), [&](const Row& row) {
        return get(*row.reserve) == get(*rows_.front().reserve);
      });
  return all_agree ? std::min<std::size_t>(1, rows_.size()) : rows_.size();
}

template <class Get>
void ReserveRows::append_texts(PostgresParameters& parameters, Columns columns,
                               const Get& get) const {
  Array texts;
  const std::size_t count = elements(columns, get);
  for (std::size_t i = 0; i < count; ++i) texts.text(to_postgres_text(get(*rows_[i].reserve)));
  parameters.array(texts, Element::text);
}

void ReserveRows::append_durations(PostgresParameters& parameters, Columns columns,
                                   DurationMs Reserve::*member) const {
  const auto get = [member](const Reserve& reserve) { return reserve.*member; };
  Array durations;
  const std::size_t count = elements(columns, get);
  for (std::size_t i = 0; i < count; ++i) durations.big(get(*rows_[i].reserve));
  parameters.array(durations, Element::int8);
}

void ReserveRows::append(PostgresParameters& parameters, Columns columns) const {
  using Text = const std::string&;
  append_texts(parameters, columns, [](const Reserve& r) -> Text { return r.id.scope; });
  append_texts(parameters, Columns::whole, [](const Reserve& r) -> Text { return r.id.key; });
  Array fingerprints, fences;
  for (const Row& row : rows_) {
    fingerprints.bytes(fingerprint_bytes(row.reserve->fingerprint));
    fences.big(static_cast<std::int64_t>(row.fence));
  }
  parameters.array(fingerprints, Element::bytea);
  parameters.array(fences, Element::int8);
  append_durations(parameters, columns, &Reserve::lease_ms);
  append_durations(parameters, columns, &Reserve::retention_ms);
  append_durations(parameters, columns, &Reserve::tombstone_ms);
  append_texts(parameters, columns, [](const Reserve& r) -> Text { return r.method; });
  append_texts(parameters, columns, [](const Reserve& r) -> Text { return r.path; });
  append_texts(parameters, columns, [](const Reserve& r) -> Text { return r.owner; });
}

void ReserveRows::append_to(PostgresParameters& parameters) const {
  append(parameters, Columns::whole);
}

void ReserveRows::append_briefly_to(PostgresParameters& parameters) const {
  append(parameters, Columns::brief);
}

}  // namespace oncekey::transaction
