#include "admin/key_records.h"

#include "admin/record_json.h"
#include "boundary/json_writer.h"

namespace oncekey::admin {

RecordId id_of(const KeyRecords& records, const Arguments& arguments) {
  RecordId id{arguments.text("tenant"), arguments.text("key")};
  if (!arguments.has("tenant")) id.scope = records.tenant_default();
  return id;
}

Result<std::optional<Record>, Unavailable> get_record(store::Committer& committer,
                                                      const RecordId& id) {
  Get get;
  get.id = id;
  Operation operation = std::move(get);
  committer.apply_now(operation);
  auto& outcome = std::get<Get>(operation).outcome;
  if (auto* unavailable = std::get_if<Unavailable>(&outcome)) return *unavailable;
  return std::get<std::optional<Record>>(std::move(outcome));
}

std::string target_json(const RecordId& id) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("tenant", id.scope);
  json.member("key", id.key);
  json.end_object();
  return text;
}

std::string record_json(const Record& record) {
  std::string text;
  JsonWriter json(text);
  write_record(json, record);
  return text;
}

Reply no_such_key(const RecordId& id) {
  return not_found("There is no record of the key \"" + id.key + "\" of the tenant \"" + id.scope +
                   "\". It may have been forgotten after its retention, or belong to another "
                   "tenant: GET /v1/keys?key_prefix=… finds it.");
}

}  // namespace oncekey::admin
