#include "admin/key_changes.h"

#include "boundary/answer.h"
#include "boundary/ascii.h"
#include "boundary/json_writer.h"
#include "boundary/response_codec.h"

namespace oncekey::admin {
namespace {

constexpr std::size_t resolve_many_default = 100;
constexpr std::size_t resolve_many_max = 1'000;
constexpr std::int64_t reason_max = 256;
constexpr std::string_view evicted_json = "{\"state\":\"gone\"}";

Field reason_field() {
  return {.name = "reason",
          .about = "why; kept in the record and the audit file",
          .required = true,
          .max = reason_max};
}

Field outcome_field() {
  return {.name = "outcome",
          .kind = FieldKind::choice,
          .about = "what really happened: executed, or not_executed (a retry then runs)",
          .required = true,
          .choices = {"executed", "not_executed"}};
}

Field fetch_field() {
  return {.name = "fetch",
          .kind = FieldKind::boolean,
          .about = "executed: the route's probe is asked for the answer"};
}

Field answer_field() {
  return {
      .name = "answer",
      .kind = FieldKind::object,
      .about =
          "executed: what retries get. Without it and fetch, they are told that it was "
          "executed and that the answer is not kept.",
      .members = {
          {.name = "status",
           .kind = FieldKind::integer,
           .about = "of the answer",
           .required = true,
           .min = 200,
           .max = 599},
          {.name = "headers", .kind = FieldKind::strings, .about = "those that the route replays"},
          {.name = "body", .about = "as it is"}}};
}

// The answer as a replay will repeat it.
Result<Verdict, Reply> given_answer(const Arguments& answer, const gateway::RouteConfig& route) {
  const std::vector<std::string>& allowed =
      route.replay_headers.empty() ? gateway::default_replay_headers() : route.replay_headers;
  const Arguments::Strings headers = answer.strings("headers");
  for (const Header& header : headers) {
    bool known = replayable_header(header.name);
    bool listed = false;
    for (const std::string& name : allowed)
      listed = listed || equals_ignoring_case(name, header.name);
    if (!known || !listed || header.value.find_first_of("\r\n") != header.value.npos) {
      return bad_request("answer: the header \"" + header.name +
                         "\" would not be replayed: replay_headers does not have it, or its value "
                         "is not one line");
    }
  }
  const std::string body = answer.text("body");
  if (body.size() > route.response_limit) {
    return bad_request("answer: the body is larger than the route's response_limit, " +
                       std::to_string(route.response_limit) + " bytes");
  }
  const int status = static_cast<int>(answer.number("status", 200));
  return Verdict(SettleCompleted{
      std::make_shared<const StoredResponse>(pack_response(status, headers, body, allowed))});
}

// What the record is wanted to become, without the answer's content.
std::string wanted_json(const Verdict& verdict) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  if (const auto* completed = std::get_if<SettleCompleted>(&verdict)) {
    json.member("state", to_string(State::completed));
    if (completed->response) json.member("response_status", completed->response->status);
  } else {
    json.member("state", to_string(State::failed_retryable));
  }
  json.end_object();
  return text;
}

Reply record_reply(const Record& record) {
  Reply reply;
  reply.body = record_json(record) + "\n";
  return reply;
}

Changed uncertain(const Unavailable& unavailable) {
  return {false, "null",
          store_unavailable(unavailable.reason + ". Whether the change was made is not certain")};
}

Changed changed_record(const Result<std::optional<Record>, Unavailable>& now, const RecordId& id) {
  Changed changed;
  changed.done = true;
  if (now && *now) {
    changed.after = record_json(**now);
    changed.reply = record_reply(**now);
  } else {  // gone already, or the store failed after it had done it
    changed.after = target_json(id);
    changed.reply.body = target_json(id) + "\n";
  }
  return changed;
}

std::string state_text(const StaleFence& stale) {
  return stale.state ? "is " + std::string(to_string(*stale.state)) : "is gone";
}

}  // namespace

std::vector<Endpoint> KeyChanges::endpoints() {
  const Field fence{.name = "fence",
                    .kind = FieldKind::integer,
                    .about = "only if the record still has this one, as it was shown",
                    .min = 1};
  std::vector<Field> filter = key_filter_fields();
  return {
      {"POST",
       "/v1/keys/resolve",
       Access::write,
       "resolveKey",
       "Decides an unknown outcome: executed, with an answer given, fetched or none; or not.",
       {tenant_field(), key_field(), outcome_field(), answer_field(), fetch_field(), reason_field(),
        fence},
       "Key",
       [this](const Call& call) { return resolve(call); }},
      {"POST",
       "/v1/keys/resolve-many",
       Access::write,
       "resolveKeys",
       "The same for all unknown outcomes that a filter finds, up to a bound.",
       {{.name = "filter",
         .kind = FieldKind::object,
         .about = "which unknown records; an empty one: all",
         .required = true,
         .members = filter},
        outcome_field(),
        fetch_field(),
        reason_field(),
        {.name = "limit",
         .kind = FieldKind::integer,
         .about = "at most so many; 100 when left out",
         .min = 1,
         .max = resolve_many_max},
        {.name = "dry_run",
         .kind = FieldKind::boolean,
         .about = "only says which records it would be"},
        {.name = "cursor", .about = "goes on after an earlier answer's `next`", .max = 4'096}},
       "ResolvedKeys",
       [this](const Call& call) { return resolve_many(call); }},
      {"POST",
       "/v1/keys/release",
       Access::write,
       "releaseKey",
       "You vouch that nothing was executed: an unknown outcome becomes failed_retryable, and the "
       "next retry runs.",
       {tenant_field(), key_field(), reason_field(), fence},
       "Key",
       [this](const Call& call) { return release(call); }},
      {"POST",
       "/v1/keys/evict",
       Access::write,
       "evictKey",
       "Forgets a key: the next request with it is executed as if it were the first. Never one in "
       "progress.",
       {tenant_field(),
        key_field(),
        reason_field(),
        fence,
        {.name = "even_unknown",
         .kind = FieldKind::boolean,
         .about = "also an unknown outcome, which may have been executed and would be again"}},
       "Evicted",
       [this](const Call& call) { return evict(call); }},
  };
}

KeyChanges::Found KeyChanges::find_undecided(const RecordId& id, const Arguments& arguments) {
  auto found = get_record(records_.committer, id);
  if (!found) return Refusal{store_unavailable(found.error().reason)};
  if (!*found) return Refusal{no_such_key(id)};
  const Record& record = **found;
  const auto not_now = [&](std::string_view why) {
    return Refusal{conflict(why), record_json(record)};
  };
  switch (record.state) {
    case State::unknown:
      break;
    case State::in_progress:
      return not_now("The request is being worked on, by " + record.owner + " until " +
                     format_rfc3339(record.locked_until) +
                     " at least. Wait for it, or for its lease to end: seconds later the outcome "
                     "is unknown, and can be decided.");
    case State::failed_retryable:
      return not_now("It is known already that nothing was executed: the next retry runs.");
    case State::completed:
    case State::expired:
      return not_now("It is known already that it was executed; what is completed never changes.");
  }
  const std::int64_t fence = arguments.number("fence", 0);
  if (fence != 0 && static_cast<Fence>(fence) != record.fence) {
    return not_now("The record has the fence " + std::to_string(record.fence) + ", not " +
                   std::to_string(fence) + ": something has happened since it was shown.");
  }
  return record;
}

Reply KeyChanges::refuse(const Call& call, std::string_view action, std::string_view wanted,
                         const Refusal& refusal) {
  const int status = refusal.reply.status;
  if (status != 404 && status != 409) return refusal.reply;  // the store, not the key
  const Change change{action, target_json(id_of(records_, call.arguments)),
                      call.arguments.text("reason"), refusal.before, std::string(wanted)};
  return journal_.change(call.caller, change, [&] { return Changed{false, "", refusal.reply}; });
}

Result<Verdict, Reply> KeyChanges::fetch(const Record& record) {
  const auto rules = records_.probe_of(record);
  if (!rules || rules->get.empty()) {
    return conflict("The route of " + record.method + " " + record.path +
                    " has no probe to fetch the answer with. Give the answer, or configure one.");
  }
  const std::vector<recovery::ProbeAnswer> answers =
      prober_.ask({recovery::probe_request(*rules, record.id)});
  const recovery::Finding finding = recovery::judge(*rules, answers.front());
  if (const auto* executed = std::get_if<recovery::FoundExecuted>(&finding)) {
    return Verdict(SettleCompleted{executed->response});
  }
  if (std::holds_alternative<recovery::FoundAbsent>(finding)) {
    return conflict(
        "The probe says that there is no such operation. Nothing was changed. If you "
        "are sure, resolve it as not_executed.");
  }
  return problem(502, "probe_failed", "The answer could not be fetched",
                 "The probe found nothing certain: " + std::get<recovery::NotSure>(finding).reason +
                     ". Nothing was changed.");
}

Result<Verdict, Reply> KeyChanges::verdict_for(const Record& record, const Arguments& arguments) {
  if (arguments.text("outcome") == "not_executed") {
    return Verdict(SettleFailed{arguments.text("reason")});
  }
  if (arguments.truth("fetch")) return fetch(record);
  const Arguments* answer = arguments.object("answer");
  if (answer == nullptr) return Verdict(SettleCompleted{});
  static const gateway::RouteConfig defaults;
  const gateway::RouteConfig* route = records_.route_of(record);
  return given_answer(*answer, route == nullptr ? defaults : *route);
}

Reply KeyChanges::settle(const Caller& caller, std::string_view action, const Record& record,
                         const Verdict& verdict, const std::string& reason) {
  const Change change{action, target_json(record.id), reason, record_json(record),
                      wanted_json(verdict)};
  return journal_.change(caller, change, [&]() -> Changed {
    Resolve resolve;
    resolve.id = record.id;
    resolve.fence = record.fence;
    resolve.verdict = verdict;
    resolve.by = "operator " + caller.name;
    resolve.reason = reason;
    Operation operation = std::move(resolve);
    records_.committer.apply_now(operation);
    const SettleOutcome& outcome = std::get<Resolve>(operation).outcome;
    if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      return uncertain(*unavailable);
    }
    if (const auto* stale = std::get_if<StaleFence>(&outcome)) {
      return {false, "",
              conflict("The record " + state_text(*stale) +
                       " now: somebody else was faster. Nothing was changed.")};
    }
    return changed_record(get_record(records_.committer, record.id), record.id);
  });
}

Reply KeyChanges::resolve(const Call& call) {
  const Arguments& arguments = call.arguments;
  const bool executed = arguments.text("outcome") == "executed";
  const bool has_answer = arguments.has("answer");
  if (!executed && (has_answer || arguments.truth("fetch"))) {
    return bad_request("answer and fetch belong to outcome \"executed\"");
  }
  if (has_answer && arguments.truth("fetch")) {
    return bad_request("either answer or fetch, not both");
  }
  const std::string wanted = wanted_json(executed ? Verdict(SettleCompleted{}) : SettleFailed{});
  const Found found = find_undecided(id_of(records_, arguments), arguments);
  if (!found) return refuse(call, "resolve", wanted, found.error());
  const auto verdict = verdict_for(*found, arguments);
  if (!verdict) return refuse(call, "resolve", wanted, {verdict.error(), record_json(*found)});
  return settle(call.caller, "resolve", *found, *verdict, arguments.text("reason"));
}

Reply KeyChanges::release(const Call& call) {
  const Found found = find_undecided(id_of(records_, call.arguments), call.arguments);
  if (!found) return refuse(call, "release", wanted_json(SettleFailed{}), found.error());
  const std::string reason = call.arguments.text("reason");
  return settle(call.caller, "release", *found, SettleFailed{reason}, reason);
}

Reply KeyChanges::evict(const Call& call) {
  const Arguments& arguments = call.arguments;
  const RecordId id = id_of(records_, arguments);
  const auto found = get_record(records_.committer, id);
  if (!found) return store_unavailable(found.error().reason);
  if (!*found) return refuse(call, "evict", evicted_json, {no_such_key(id)});
  const Record& record = **found;
  const Change change{"evict", target_json(id), arguments.text("reason"), record_json(record),
                      std::string(evicted_json)};
  return journal_.change(call.caller, change, [&]() -> Changed {
    Evict evict;
    evict.id = id;
    evict.fence =
        static_cast<Fence>(arguments.number("fence", static_cast<std::int64_t>(record.fence)));
    evict.even_unknown = arguments.truth("even_unknown");
    Operation operation = std::move(evict);
    records_.committer.apply_now(operation);
    const EvictOutcome& outcome = std::get<Evict>(operation).outcome;
    if (const auto* unavailable = std::get_if<Unavailable>(&outcome)) {
      records_.forget(id);
      return uncertain(*unavailable);
    }
    if (const auto* stale = std::get_if<StaleFence>(&outcome)) {
      std::string detail = "The record " + state_text(*stale) + ". Nothing was changed.";
      if (stale->state == State::unknown) {
        detail +=
            " Its outcome is unknown: it may have been executed. Resolve it, or say "
            "even_unknown.";
      } else if (stale->state == State::in_progress) {
        detail += " What is in progress is never evicted.";
      }
      return {false, "", conflict(detail)};
    }
    records_.forget(id);
    Changed changed{true, std::string(evicted_json), {}};
    changed.reply.body = "{\"evicted\":" + record_json(std::get<Evicted>(outcome).before) + "}\n";
    return changed;
  });
}

Reply KeyChanges::resolve_many(const Call& call) {
  const Arguments& arguments = call.arguments;
  const bool fetched = arguments.truth("fetch");
  if (fetched && arguments.text("outcome") != "executed") {
    return bad_request("fetch belongs to outcome \"executed\"");
  }
  std::optional<RecordId> after;
  if (arguments.has("cursor")) {
    after = from_cursor(arguments.text("cursor"));
    if (!after) return bad_request("cursor is not one that an answer gave as `next`");
  }
  const auto limit = static_cast<std::size_t>(
      arguments.number("limit", static_cast<std::int64_t>(resolve_many_default)));
  KeyFilter filter = key_filter(*arguments.object("filter"), records_.clock());
  filter.state = State::unknown;
  const auto found = find_keys(records_.committer, filter, limit, after, records_.route_of);
  if (!found) return store_unavailable(found.error().reason);
  const bool dry_run = arguments.truth("dry_run");
  Reply reply;
  JsonWriter json(reply.body);
  std::size_t resolved = 0;
  json.begin_object();
  json.key("keys");
  json.begin_array();
  for (const Record& record : found->records) {
    json.begin_object();
    json.member("tenant", record.id.scope);
    json.member("key", record.id.key);
    if (!dry_run) {
      const auto verdict = verdict_for(record, arguments);
      const Reply one =
          verdict ? settle(call.caller, "resolve", record, *verdict, arguments.text("reason"))
                  : verdict.error();
      const bool done = one.status == 200;
      resolved += done ? 1 : 0;
      json.member("resolved", done);
      if (!done) {
        json.key("problem");
        json.raw(std::string_view(one.body).substr(0, one.body.find('\n')));
      }
    }
    json.end_object();
  }
  json.end_array();
  json.member("dry_run", dry_run);
  json.member("matched", found->records.size());
  json.member("resolved", resolved);
  json.member("examined", found->examined);
  if (found->next) json.member("next", to_cursor(*found->next));
  json.end_object();
  reply.body.push_back('\n');
  return reply;
}

}  // namespace oncekey::admin
