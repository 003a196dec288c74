#include "admin/journal.h"

#include "boundary/json_document.h"

namespace oncekey::admin {
namespace {

// "conflict: It is completed."
std::string why_not(const Reply& reply) {
  const JsonDocument body(reply.body);
  return body.text_at("/code").value_or("failed") + ": " + body.text_at("/detail").value_or("");
}

}  // namespace

Reply Journal::change(const Caller& caller, const Change& change,
                      const std::function<Changed()>& make) {
  AuditEntry entry;
  entry.who = caller.name;
  entry.from = caller.from;
  entry.action = change.action;
  entry.target = change.target;
  entry.reason = change.reason;
  entry.before = change.before;
  entry.after = change.wanted;
  const AuditLog::Begun begun = audit_.begin(entry);
  if (!begun.error.empty()) {
    return problem(503, "audit_unavailable", "The change could not be put on record",
                   "Nothing was changed, because the audit file cannot be written: " + begun.error +
                       ". Make room or give access, or set admin_audit_file.");
  }
  Changed changed = make();
  const bool as_before = !changed.done && changed.after.empty();
  entry.after = as_before ? change.before : changed.after;
  entry.result = changed.done ? "done" : why_not(changed.reply);
  log_.event(gateway::LogLevel::warn, "admin_change",
             {{"who", std::string_view(entry.who)},
              {"from", std::string_view(entry.from)},
              {"action", change.action},
              {"target", std::string_view(entry.target)},
              {"reason", std::string_view(entry.reason)},
              {"result", std::string_view(entry.result)}});
  const auto error = audit_.finish(begun.id, entry);
  if (!error || !changed.done) return changed.reply;
  return problem(500, "audit_incomplete", "The change was made, and its result is not on record",
                 "The audit file has the intent " + begun.id +
                     "; writing the result failed: " + *error + ". The change itself is done.");
}

}  // namespace oncekey::admin
