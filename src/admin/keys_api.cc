#include "admin/keys_api.h"

#include "admin/record_json.h"
#include "boundary/answer.h"
#include "boundary/json_writer.h"
#include "boundary/timeline.h"

namespace oncekey::admin {
namespace {

constexpr std::int64_t cursor_max = 4'096;

std::vector<Field> list_fields() {
  std::vector<Field> fields = key_filter_fields();
  fields.insert(fields.begin(), state_field());
  fields.push_back({.name = "limit",
                    .kind = FieldKind::integer,
                    .about = "at most so many; 100 when left out",
                    .min = 1,
                    .max = key_list_max});
  fields.push_back(
      {.name = "cursor", .about = "goes on after an earlier answer's `next`", .max = cursor_max});
  return fields;
}

}  // namespace

std::vector<Endpoint> KeysApi::endpoints() {
  return {
      {"GET", "/v1/keys", Access::read, "listKeys",
       "Records, in the order of tenant and key. Looks at 10,000 of them at most; `next`, when "
       "there is one, says where to go on.",
       list_fields(), "KeyList", [this](const Call& call) { return list(call); }},
      {"GET",
       "/v1/keys/one",
       Access::read,
       "showKey",
       "One record, with its answer's status and headers.",
       {tenant_field(),
        key_field(),
        {.name = "body",
         .kind = FieldKind::boolean,
         .about = "with the stored answer's body; needs the role write"}},
       "Key",
       [this](const Call& call) { return one(call); }},
      {"GET",
       "/v1/keys/timeline",
       Access::read,
       "showTimeline",
       "Everything that happened to a key, in order.",
       {tenant_field(), key_field()},
       "Timeline",
       [this](const Call& call) { return show_timeline(call); }},
  };
}

Reply KeysApi::list(const Call& call) const {
  const Arguments& arguments = call.arguments;
  std::optional<RecordId> after;
  if (arguments.has("cursor")) {
    after = from_cursor(arguments.text("cursor"));
    if (!after) return bad_request("cursor is not one that an answer gave as `next`");
  }
  const auto limit = static_cast<std::size_t>(
      arguments.number("limit", static_cast<std::int64_t>(key_list_default)));
  const KeyFilter filter = key_filter(arguments, records_.clock());
  const auto found = find_keys(records_.committer, filter, limit, after, records_.route_of);
  if (!found) return store_unavailable(found.error().reason);
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  json.key("keys");
  json.begin_array();
  for (const Record& record : found->records) write_record(json, record);
  json.end_array();
  json.member("examined", found->examined);
  if (found->next) json.member("next", to_cursor(*found->next));
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

Reply KeysApi::one(const Call& call) const {
  const bool with_body = call.arguments.truth("body");
  if (with_body && !call.caller.may_write) {
    return problem(403, "forbidden", "This is not allowed",
                   "A stored answer's body is shown only to tokens with the role write. Leave out "
                   "body=1, or send such a token.");
  }
  const RecordId id = id_of(records_, call.arguments);
  const auto record = get_record(records_.committer, id);
  if (!record) return store_unavailable(record.error().reason);
  if (!*record) return no_such_key(id);
  Reply reply;
  JsonWriter json(reply.body);
  const bool is_probed = records_.probe_of(**record).has_value();
  write_record_with_answer(json, **record, is_probed, with_body);
  reply.body.push_back('\n');
  return reply;
}

Reply KeysApi::show_timeline(const Call& call) const {
  const RecordId id = id_of(records_, call.arguments);
  const auto record = get_record(records_.committer, id);
  if (!record) return store_unavailable(record.error().reason);
  if (!*record) return no_such_key(id);
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  json.member("tenant", id.scope);
  json.member("key", id.key);
  json.member("state", to_string((*record)->state));
  json.key("transitions");
  json.begin_array();
  for (const Transition& transition : timeline(**record)) {
    json.begin_object();
    if (transition.at > 0) json.member("at", format_rfc3339(transition.at));
    if (transition.at > 0) json.member("at_ms", transition.at);
    json.member("state", to_string(transition.state));
    json.member("attempt", transition.attempt);
    if (!transition.by.empty()) json.member("by", transition.by);
    if (!transition.reason.empty()) json.member("reason", transition.reason);
    if (transition.dropped > 0) json.member("not_kept_before", transition.dropped);
    json.end_object();
  }
  json.end_array();
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

}  // namespace oncekey::admin
