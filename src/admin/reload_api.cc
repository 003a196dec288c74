#include "admin/reload_api.h"

#include <unistd.h>

#include "boundary/answer.h"
#include "boundary/json_writer.h"

namespace oncekey::admin {
namespace {

constexpr std::int64_t reason_max = 256;

std::string status_json(const gateway::ReloadStatus& status) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("pid", static_cast<std::int64_t>(::getpid()));
  json.member("count", static_cast<std::int64_t>(status.count()));
  json.member("applied", static_cast<std::int64_t>(status.applied));
  json.member("refused", static_cast<std::int64_t>(status.refused));
  if (status.last_at > 0) json.member("at", format_rfc3339(status.last_at));
  if (!status.refusal.empty()) json.member("refusal", status.refusal);
  json.key("changed");
  json.begin_array();
  for (const std::string& name : status.changed) json.value(name);
  json.end_array();
  json.end_object();
  return text;
}

}  // namespace

std::vector<Endpoint> ReloadApi::endpoints() {
  const Field reason{.name = "reason", .about = "why; kept in the audit file", .max = reason_max};
  return {
      {"GET",
       "/v1/reload",
       Access::read,
       "lastReload",
       "What became of the last reload: `refusal` says why nothing was changed; without it, "
       "`changed` names what the reload changed.",
       {},
       "Reload",
       [this](const Call&) { return last(); }},
      {"POST",
       "/v1/reload",
       Access::write,
       "reload",
       "Reads the configuration again, checks it, and puts it in force as a whole; 422 and the "
       "reason when it cannot be, and then nothing was changed.",
       {reason},
       "Reload",
       [this](const Call& call) { return reload(call); }},
  };
}

Reply ReloadApi::last() const {
  if (service_.reloader() == nullptr) return not_found("This gateway cannot reload.");
  Reply reply;
  reply.body = status_json(service_.reloader()->status()) + "\n";
  return reply;
}

Reply ReloadApi::reload(const Call& call) {
  gateway::Reloader* reloader = service_.reloader();
  if (reloader == nullptr) return not_found("This gateway cannot reload.");
  const Change change{"reload", "{}", call.arguments.text("reason"),
                      status_json(reloader->status()), "{}"};
  return journal_.change(call.caller, change, [&]() -> Changed {
    const gateway::ReloadOutcome outcome = reloader->reload("admin: " + call.caller.name);
    const std::string after = status_json(reloader->status());
    Changed changed{outcome.ok(), after, {}};
    if (outcome) {
      changed.reply.body = after + "\n";
    } else {
      changed.reply =
          problem(422, "reload_refused", "The configuration was not put in force", outcome.error());
    }
    return changed;
  });
}

}  // namespace oncekey::admin
