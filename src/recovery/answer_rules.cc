#include "recovery/answer_rules.h"

#include "boundary/response_codec.h"
#include "recovery/placeholders.h"

namespace oncekey::recovery {

std::shared_ptr<const StoredResponse> answer_to_keep(const AnswerRules& rules, bool declined,
                                                     const ProviderAnswer& said,
                                                     const JsonDocument& document) {
  const std::string& wanted = declined ? rules.declined_body : rules.body;
  const int status = declined ? rules.declined_status : rules.status;
  std::string body(said.body);
  bool made_here = true;
  if (!wanted.empty()) {
    body = fill_in(wanted, document);
  } else if (!rules.body_pointer.empty()) {
    body = document.json_at(rules.body_pointer).value_or("null");
  } else {
    made_here = false;
  }
  const Header json{"content-type", "application/json"};
  const std::vector<std::string> json_headers{json.name};
  StoredResponse kept = made_here ? pack_response(status, {&json, 1}, body, json_headers)
                                  : pack_response(status, said.headers, body, rules.replay_headers);
  if (kept.status == 0) kept.status = said.status;
  return std::make_shared<const StoredResponse>(std::move(kept));
}

}  // namespace oncekey::recovery
