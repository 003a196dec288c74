// What an API is expected to answer, by profile, with the caller's changes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oncekey::verify {

enum class ErrorForm { problem_json, stripe };
enum class On5xx { retry, replay, unknown };

struct Expectations {
  std::string profile = "ietf";
  int missing = 400;    // no key
  int invalid = 400;    // a key that cannot be used
  int mismatch = 422;   // the key of another request
  int in_flight = 409;  // the first still runs
  On5xx on_5xx = On5xx::retry;
  ErrorForm errors = ErrorForm::problem_json;
};

// "ietf" or "stripe"; nothing for another name.
std::optional<Expectations> expectations_of(std::string_view profile);

// "mismatch=409"; the error is "" when it was understood.
std::string change_status(Expectations& expected, std::string_view assignment);

std::optional<On5xx> on_5xx_of(std::string_view name);

}  // namespace oncekey::verify
