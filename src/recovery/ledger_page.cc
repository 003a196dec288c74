#include "recovery/ledger_page.h"

#include <algorithm>

#include "boundary/json_document.h"
#include "recovery/instant.h"

namespace oncekey::recovery {
namespace {

bool contains(const std::vector<std::string>& list, const std::optional<std::string>& text) {
  return text && std::find(list.begin(), list.end(), *text) != list.end();
}

}  // namespace

Result<LedgerPage, std::string> read_ledger_page(const LedgerRules& rules, std::string_view body) {
  const JsonDocument document(body);
  if (!document.valid()) return std::string("a page of the ledger is not JSON");
  const auto size = document.size_at(rules.items);
  if (!size) return "a page of the ledger has no list at " + rules.items;
  LedgerPage page;
  for (std::size_t i = 0; i < *size; ++i) {
    const std::string item = rules.items + "/" + std::to_string(i);
    const auto text = [&](const std::string& pointer) { return document.text_at(item + pointer); };
    if (!rules.kind.empty() && !contains(rules.kinds, text(rules.kind))) continue;
    const auto time = parse_instant(text(rules.time).value_or(""));
    if (!time) return "an item of the ledger has no time at " + rules.time;
    Charge charge;
    charge.id = text(rules.id).value_or("");
    charge.key = text(rules.key).value_or("");
    charge.time = *time;
    if (!rules.amount.empty()) charge.amount = text(rules.amount).value_or("");
    if (!rules.state.empty()) charge.executed = contains(rules.executed_states, text(rules.state));
    page.charges.push_back(std::move(charge));
  }
  const bool last = *size == 0 || (!rules.more.empty() && document.text_at(rules.more) == "false");
  if (!last) page.next = document.text_at(rules.next);
  return page;
}

}  // namespace oncekey::recovery
