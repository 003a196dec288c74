// How what a provider says of an operation becomes the answer that clients get.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "boundary/json_document.h"
#include "oncekey/record.h"

namespace oncekey::recovery {

struct AnswerRules {
  std::string body_pointer;  // which part of what the provider said is the body; "": all of it
  int status = 0;            // 0: the provider's own
  std::string body;          // with {/pointer} for values of what the provider said; "": as above
  int declined_status = 402;
  std::string declined_body;                // as `body`, for what was created and then declined
  std::vector<std::string> replay_headers;  // of the provider's that are kept, lower case
};

struct ProviderAnswer {
  int status = 200;
  std::span<const Header> headers;
  std::string_view body;
};

// Executed, one way or the other: a declined charge is an answer, too, and nothing to try again.
std::shared_ptr<const StoredResponse> answer_to_keep(const AnswerRules& rules, bool declined,
                                                     const ProviderAnswer& said,
                                                     const JsonDocument& document);

}  // namespace oncekey::recovery
