// What a provider's webhook says about a record. Pure: the receiving is webhook_receiver.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncekey/record.h"
#include "recovery/answer_rules.h"

namespace oncekey::recovery {

struct WebhookRules {
  std::string type = "/type";  // pointer to what happened
  std::vector<std::string> executed_types;
  std::vector<std::string> declined_types;  // created, then declined: done, and not to be retried
  // Which record it is about, by one of two:
  std::string key;      // pointer to the original key, where the provider gives it back
  std::string scope;    // pointer to its scope; "": always `fixed_scope`
  std::string derived;  // pointer to the key that the provider saw, derived from …
  std::string phase;    // … the record's and this phase
  std::string fixed_scope = "default";
  AnswerRules answer;
};

struct WebhookEvent {
  RecordId id;          // empty key: `derived` names it
  std::string derived;  // "": `id` names it
  bool declined = false;
  std::shared_ptr<const StoredResponse> response;
};
struct WebhookNotForUs {};  // of a type that says nothing about any record
struct WebhookUnreadable {
  std::string reason;  // without anything of the body
};
using WebhookReading = std::variant<WebhookUnreadable, WebhookNotForUs, WebhookEvent>;

// `payload` has been verified.
WebhookReading read_webhook(const WebhookRules& rules, std::string_view payload);

}  // namespace oncekey::recovery
