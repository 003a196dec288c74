// The records behind the key operations: whose they are, and how they are asked for.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "admin/key_filter.h"
#include "admin/reply.h"
#include "oncekey/record.h"
#include "recovery/probe.h"
#include "store/committer.h"

namespace oncekey::admin {

// What the gateway and the worker each have of their own.
struct KeyRecords {
  store::Committer& committer;
  RouteOf route_of;
  // How the record's outcome can be asked for; nothing: its route has no probe.
  std::function<std::optional<recovery::ProbeRules>(const Record&)> probe_of;
  std::function<std::string()> tenant_default;  // "": a tenant must be named
  std::function<void(const RecordId&)> forget;  // drops what this process has cached of it
  std::function<TimestampMs()> clock;
};

// The id that the arguments `tenant` and `key` name.
RecordId id_of(const KeyRecords& records, const Arguments& arguments);

// Nothing: there is no such record.
Result<std::optional<Record>, Unavailable> get_record(store::Committer& committer,
                                                      const RecordId& id);

// {"tenant":…,"key":…}
std::string target_json(const RecordId& id);
std::string record_json(const Record& record);

Reply no_such_key(const RecordId& id);

}  // namespace oncekey::admin
