#include "recovery/webhook.h"

#include <algorithm>

namespace oncekey::recovery {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

WebhookUnreadable nothing_at(const std::string& pointer) {
  return {"there is no text at " + pointer};
}

}  // namespace

WebhookReading read_webhook(const WebhookRules& rules, std::string_view payload) {
  const JsonDocument document(payload);
  if (!document.valid()) return WebhookUnreadable{"the payload is not JSON"};
  const auto type = document.text_at(rules.type);
  if (!type) return nothing_at(rules.type);
  WebhookEvent event;
  event.declined = contains(rules.declined_types, *type);
  if (!event.declined && !contains(rules.executed_types, *type)) return WebhookNotForUs{};
  event.id.scope = rules.fixed_scope;
  if (!rules.scope.empty()) {
    auto scope = document.text_at(rules.scope);
    if (!scope) return nothing_at(rules.scope);
    event.id.scope = std::move(*scope);
  }
  const std::string& pointer = rules.key.empty() ? rules.derived : rules.key;
  auto name = document.text_at(pointer);
  if (!name || name->empty()) return nothing_at(pointer);
  (rules.key.empty() ? event.derived : event.id.key) = std::move(*name);
  // A webhook has no status of its own; what it tells of is there.
  const Header json{"content-type", "application/json"};
  const ProviderAnswer said{200, {&json, 1}, payload};
  event.response = answer_to_keep(rules.answer, event.declined, said, document);
  return event;
}

}  // namespace oncekey::recovery
