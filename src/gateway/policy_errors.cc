#include "gateway/policy_errors.h"

#include <algorithm>

#include "boundary/answer_wording.h"

namespace oncekey::gateway {
namespace {

constexpr AnswerCase all_cases[] = {
    AnswerCase::key_missing,        AnswerCase::key_invalid,
    AnswerCase::mismatch,           AnswerCase::in_flight,
    AnswerCase::outcome_unknown,    AnswerCase::result_expired,
    AnswerCase::result_not_kept,    AnswerCase::result_unreadable,
    AnswerCase::store_unavailable,  AnswerCase::upstream_unreachable,
    AnswerCase::upstream_failed,    AnswerCase::tenant_missing,
    AnswerCase::tenant_refused,     AnswerCase::body_too_large,
    AnswerCase::request_invalid,    AnswerCase::request_timeout,
    AnswerCase::header_too_large,   AnswerCase::not_supported,
    AnswerCase::first_sent_invalid, AnswerCase::outside_window,
    AnswerCase::too_many_new_keys,  AnswerCase::too_many_live_keys,
    AnswerCase::key_not_found,      AnswerCase::not_executed,
    AnswerCase::route_paused,       AnswerCase::overloaded};

std::string with_header(std::string_view text, std::string_view header) {
  constexpr std::string_view mark = "{header}";
  std::string out(text);
  for (std::size_t at = out.find(mark); at != out.npos; at = out.find(mark, at + header.size())) {
    out.replace(at, mark.size(), header);
  }
  return out;
}

}  // namespace

std::vector<PolicyError> policy_errors(std::string_view key_header) {
  std::vector<PolicyError> errors;
  for (const AnswerCase answer_case : all_cases) {
    const Wording& words = wording(answer_case);
    const std::string advice = with_header(words.detail, key_header);
    const auto known = std::find_if(errors.begin(), errors.end(),
                                    [&](const PolicyError& e) { return e.code == words.code; });
    if (known != errors.end()) {
      known->advice.append(" Or: ").append(advice);
      continue;
    }
    errors.push_back({words.code, answer_status(answer_case, Profile::ietf, {}),
                      answer_status(answer_case, Profile::stripe, {}), words.title, advice,
                      words.retryable, words.safe_new_key});
  }
  return errors;
}

}  // namespace oncekey::gateway
