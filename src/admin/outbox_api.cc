#include "admin/outbox_api.h"

#include "admin/record_json.h"
#include "boundary/answer.h"
#include "boundary/json_writer.h"

namespace oncekey::admin {
namespace {

using outbox::Entry;
using outbox::Queue;

constexpr std::int64_t list_default = 100;
constexpr std::int64_t list_max = 1'000;
constexpr std::int64_t text_max = 1'024;
constexpr std::int64_t reason_max = 256;
constexpr std::int64_t id_max = 9'007'199'254'740'991;  // what every JSON reader keeps exactly

Reply database_unavailable(const std::string& reason) {
  return store_unavailable("the outbox's database: " + reason);
}

void write_time(JsonWriter& json, std::string_view name, TimestampMs time) {
  if (time > 0) json.member(name, format_rfc3339(time));
}

void write_entry(JsonWriter& json, const Entry& entry, bool with_payload) {
  json.begin_object();
  json.member("id", entry.id);
  json.member("state", entry.state);
  json.member("destination", entry.message.destination);
  json.member("message_key", entry.message.message_key);
  if (!entry.message.aggregate.empty()) json.member("aggregate", entry.message.aggregate);
  json.member("attempt", entry.attempt);
  if (!entry.last_error.empty()) json.member("last_error", entry.last_error);
  if (!entry.provider_id.empty()) json.member("provider_id", entry.provider_id);
  if (!entry.owner.empty()) json.member("owner", entry.owner);
  json.member("payload_bytes", entry.message.payload.size());
  write_time(json, "created_at", entry.created_at);
  write_time(json, "due_at", entry.due_at);
  write_time(json, "delivered_at", entry.delivered_at);
  if (with_payload) {
    write_headers(json, entry.message.headers);
    write_bytes(json, "payload", entry.message.payload);
  } else {
    json.key("header_names");
    json.begin_array();
    for (const Header& header : entry.message.headers) json.value(header.name);
    json.end_array();
  }
  json.end_object();
}

std::string ids_json(std::span<const MessageId> ids) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.key("ids");
  json.begin_array();
  for (const MessageId id : ids) json.value(id);
  json.end_array();
  json.end_object();
  return text;
}

Field destination_field() {
  return {.name = "destination", .about = "only messages to this sink", .max = text_max};
}

std::vector<Field> change_fields() {
  return {
      {.name = "ids",
       .kind = FieldKind::numbers,
       .about = "which dead letters",
       .max = OutboxApi::ids_max},
      {.name = "filter",
       .kind = FieldKind::object,
       .about = "instead of ids: all dead letters that it finds, the oldest first",
       .members = {destination_field()}},
      {.name = "limit",
       .kind = FieldKind::integer,
       .about = "filter: at most so many; 100 when left out",
       .min = 1,
       .max = OutboxApi::ids_max},
      {.name = "reason",
       .about = "why; kept in the audit file",
       .required = true,
       .max = reason_max},
      {.name = "dry_run", .kind = FieldKind::boolean, .about = "only says which it would be"},
  };
}

}  // namespace

std::vector<Endpoint> OutboxApi::endpoints() {
  return {
      {"GET",
       "/v1/outbox",
       Access::read,
       "listMessages",
       "Messages, in the order of their ids.",
       {{.name = "state",
         .kind = FieldKind::choice,
         .about = "only messages in this state; dead: the dead letters",
         .choices = {"waiting", "claimed", "delivered", "dead"}},
        destination_field(),
        {.name = "after",
         .kind = FieldKind::integer,
         .about = "goes on after an earlier answer's `next`",
         .max = id_max},
        {.name = "limit",
         .kind = FieldKind::integer,
         .about = "at most so many; 100 when left out",
         .min = 1,
         .max = list_max}},
       "MessageList",
       [this](const Call& call) { return list(call); }},
      {"GET",
       "/v1/outbox/one",
       Access::read,
       "showMessage",
       "One message.",
       {{.name = "id",
         .kind = FieldKind::integer,
         .about = "the message's number",
         .required = true,
         .max = id_max},
        {.name = "payload",
         .kind = FieldKind::boolean,
         .about = "with its headers' values and its payload; needs the role write"}},
       "Message",
       [this](const Call& call) { return one(call); }},
      {"POST", "/v1/outbox/retry", Access::write, "retryMessages",
       "Dead letters are tried again, with their attempts at zero.", change_fields(),
       "ChangedMessages",
       [this](const Call& call) {
         return change(call, "outbox_retry", [](Queue& queue, std::span<const MessageId> ids) {
           return queue.retry(ids);
         });
       }},
      {"POST", "/v1/outbox/discard", Access::write, "discardMessages",
       "Dead letters are removed; what waits behind one of them is delivered.", change_fields(),
       "ChangedMessages",
       [this](const Call& call) {
         return change(call, "outbox_discard", [](Queue& queue, std::span<const MessageId> ids) {
           return queue.discard(ids);
         });
       }},
  };
}

Result<Queue*, Reply> OutboxApi::open(Opened& opened) {
  if (!opened.queue) {
    auto queue = outbox::open_queue(database_);
    if (!queue) return database_unavailable(queue.error());
    opened.queue = std::move(*queue);
  }
  return opened.queue.get();
}

Reply OutboxApi::list(const Call& call) {
  const auto queue = open(reading_);
  if (!queue) return queue.error();
  outbox::Filter filter;
  filter.state = call.arguments.text("state");
  filter.destination = call.arguments.text("destination");
  filter.after = call.arguments.number("after", 0);
  filter.limit = static_cast<std::size_t>(call.arguments.number("limit", list_default));
  const auto entries = (*queue)->list(filter);
  if (!entries) return database_unavailable(entries.error());
  Reply reply;
  JsonWriter json(reply.body);
  json.begin_object();
  json.key("messages");
  json.begin_array();
  for (const Entry& entry : *entries) write_entry(json, entry, false);
  json.end_array();
  if (entries->size() == filter.limit) json.member("next", entries->back().id);
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

Reply OutboxApi::one(const Call& call) {
  const bool with_payload = call.arguments.truth("payload");
  if (with_payload && !call.caller.may_write) {
    return problem(403, "forbidden", "This is not allowed",
                   "A message's payload is shown only to tokens with the role write. Leave out "
                   "payload=1, or send such a token.");
  }
  const auto queue = open(reading_);
  if (!queue) return queue.error();
  const MessageId id = call.arguments.number("id", 0);
  const auto entry = (*queue)->find(id);
  if (!entry) return database_unavailable(entry.error());
  if (!*entry) return not_found("There is no message " + std::to_string(id) + " in the outbox.");
  Reply reply;
  JsonWriter json(reply.body);
  write_entry(json, **entry, with_payload);
  reply.body.push_back('\n');
  return reply;
}

OutboxApi::Dead OutboxApi::find_dead(Queue& queue, const Arguments& arguments) {
  const Arguments* given = arguments.object("filter");
  if (arguments.has("ids") == (given != nullptr)) {
    return bad_request("either ids or filter says which dead letters are meant");
  }
  if (given == nullptr) return arguments.numbers("ids");
  outbox::Filter filter;
  filter.state = "dead";
  filter.destination = given->text("destination");
  filter.limit = static_cast<std::size_t>(arguments.number("limit", list_default));
  const auto entries = queue.list(filter);
  if (!entries) return database_unavailable(entries.error());
  std::vector<MessageId> ids;
  for (const Entry& entry : *entries) ids.push_back(entry.id);
  return ids;
}

Reply OutboxApi::change(const Call& call, std::string_view action, const ChangeDead& change_dead) {
  const auto queue = open(changing_);
  if (!queue) return queue.error();
  const Dead ids = find_dead(**queue, call.arguments);
  if (!ids) return ids.error();
  const auto answer = [&](bool dry_run, std::size_t changed) {
    Reply reply;
    reply.body = ids_json(*ids);
    reply.body.pop_back();
    reply.body.append(",\"dry_run\":").append(dry_run ? "true" : "false");
    reply.body.append(",\"changed\":").append(std::to_string(changed)).append("}\n");
    return reply;
  };
  if (call.arguments.truth("dry_run") || ids->empty()) return answer(true, 0);
  const Change wanted{action, ids_json(*ids), call.arguments.text("reason"), "", ""};
  return journal_.change(call.caller, wanted, [&]() -> Changed {
    const auto changed = change_dead(**queue, *ids);
    if (!changed) {
      return {false, "",
              database_unavailable(changed.error() + "; whether it was done is not certain")};
    }
    if (*changed == 0) {
      return {false, "", conflict("None of these messages is a dead letter. Nothing was changed.")};
    }
    wake_();
    return {true, "{\"changed\":" + std::to_string(*changed) + "}", answer(false, *changed)};
  });
}

}  // namespace oncekey::admin
