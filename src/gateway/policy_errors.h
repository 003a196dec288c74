// The error codes as the policy lists them: one entry for each code, however many cases share it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "boundary/answer.h"

namespace oncekey::gateway {

struct PolicyError {
  std::string_view code;
  int status = 0;         // in the ietf profile, without a route's overrides
  int stripe_status = 0;  // in the stripe profile
  std::string_view title;
  std::string advice;
  bool retryable = false;
  bool safe_new_key = false;
};

// `key_header` is named in the advice.
std::vector<PolicyError> policy_errors(std::string_view key_header);

}  // namespace oncekey::gateway
