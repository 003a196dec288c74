// What each answer says. The cases are prose and flags; answer.cc gives them their form.
#pragma once

#include <string_view>

#include "boundary/answer.h"

namespace oncekey {

struct Wording {
  int status = 0;
  int stripe_status = 0;  // 0: the same
  std::string_view code;
  std::string_view stripe_type = "invalid_request_error";
  std::string_view title;
  std::string_view detail;    // `{header}` stands for the name of the key's header
  bool retryable = false;     // the same request with the same key may be sent again as it is
  bool safe_new_key = false;  // sending it with a new key cannot execute anything twice
  bool retry_after = false;
};

const Wording& wording(AnswerCase answer_case);

}  // namespace oncekey
