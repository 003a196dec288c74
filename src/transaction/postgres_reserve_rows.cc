#include "transaction/postgres_reserve_rows.h"

#include "transaction/postgres_record.h"
#include "transaction/postgres_text.h"

namespace oncekey::transaction {

using Element = PostgresParameters::Element;

void ReserveRows::add(const Reserve& reserve, Fence fence) {
  scopes_.text(to_postgres_text(reserve.id.scope));
  keys_.text(to_postgres_text(reserve.id.key));
  fingerprints_.bytes(fingerprint_bytes(reserve.fingerprint));
  fences_.big(static_cast<std::int64_t>(fence));
  leases_.big(reserve.lease_ms);
  retentions_.big(reserve.retention_ms);
  tombstones_.big(reserve.tombstone_ms);
  methods_.text(to_postgres_text(reserve.method));
  paths_.text(to_postgres_text(reserve.path));
  owners_.text(to_postgres_text(reserve.owner));
}

void ReserveRows::append_to(PostgresParameters& parameters) const {
  parameters.array(scopes_, Element::text);
  parameters.array(keys_, Element::text);
  parameters.array(fingerprints_, Element::bytea);
  parameters.array(fences_, Element::int8);
  parameters.array(leases_, Element::int8);
  parameters.array(retentions_, Element::int8);
  parameters.array(tombstones_, Element::int8);
  parameters.array(methods_, Element::text);
  parameters.array(paths_, Element::text);
  parameters.array(owners_, Element::text);
}

void ReserveRows::append_briefly_to(PostgresParameters& parameters) const {
  parameters.array_or_first(scopes_, Element::text);
  parameters.array(keys_, Element::text);
  parameters.array(fingerprints_, Element::bytea);
  parameters.array(fences_, Element::int8);
  parameters.array_or_first(leases_, Element::int8);
  parameters.array_or_first(retentions_, Element::int8);
  parameters.array_or_first(tombstones_, Element::int8);
  parameters.array_or_first(methods_, Element::text);
  parameters.array_or_first(paths_, Element::text);
  parameters.array_or_first(owners_, Element::text);
}

}  // namespace oncekey::transaction
