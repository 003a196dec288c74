#include "recovery/probe.h"

#include <algorithm>

#include "boundary/ascii.h"

namespace oncekey::recovery {
namespace {

// What the other side may say in so many words (SPEC P2). It goes before the rules for what is in
// the answer. With a status that is not one of the probe's own it may have been said of the probe:
// by whoever turned it away unexecuted.
constexpr std::string_view outcome_header = "idempotency-outcome";

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

std::string_view stated_outcome(const ProbeAnswer& answer) {
  std::string_view stated;
  for (const Header& header : answer.headers) {
    if (!equals_ignoring_case(header.name, outcome_header)) continue;
    if (!stated.empty() && stated != header.value) return "contradictory";
    stated = header.value;
  }
  return stated;
}

Finding executed(const ProbeRules& rules, const ProbeAnswer& answer, const JsonDocument& document,
                 bool declined) {
  const ProviderAnswer said{answer.status, answer.headers, answer.body};
  return FoundExecuted{answer_to_keep(rules.answer, declined, said, document)};
}

bool reads_json(const ProbeRules& rules) {
  return !rules.found.empty() || !rules.state.empty() || !rules.answer.body_pointer.empty();
}

}  // namespace

Finding judge(const ProbeRules& rules, const ProbeAnswer& answer) {
  if (answer.status == 0) return NotSure{"no answer: " + answer.error};
  if (answer.body_cut) {
    return NotSure{"the answer is longer than " + std::to_string(rules.response_limit) + " bytes"};
  }
  if (answer.status != rules.executed && answer.status != rules.absent) {
    return NotSure{"the answer was " + std::to_string(answer.status)};
  }
  const JsonDocument document(answer.body);
  const std::string_view stated = stated_outcome(answer);
  if (stated == "not-executed") return FoundAbsent{};
  if (stated == "executed") return executed(rules, answer, document, false);
  if (!stated.empty()) return NotSure{"it was said that the outcome is not known"};
  if (answer.status == rules.absent) return FoundAbsent{};
  if (reads_json(rules) && !document.valid()) return NotSure{"the answer is not JSON"};
  if (!rules.found.empty() && !document.json_at(rules.found)) return FoundAbsent{};
  if (rules.state.empty()) return executed(rules, answer, document, false);
  const std::optional<std::string> state = document.text_at(rules.state);
  if (!state) return NotSure{"the answer has nothing at " + rules.state};
  if (contains(rules.declined_states, *state)) return executed(rules, answer, document, true);
  if (contains(rules.absent_states, *state)) return FoundAbsent{};
  if (contains(rules.executed_states, *state)) return executed(rules, answer, document, false);
  constexpr std::size_t shown_max = 64;
  return NotSure{"it is \"" + state->substr(0, shown_max) + "\""};
}

}  // namespace oncekey::recovery
