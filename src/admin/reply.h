// What an operation of the admin API answers, and its errors (RFC 9457).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::admin {

struct Reply {
  int status = 200;
  std::string type = "application/json";
  std::string body;
  std::vector<Header> headers;  // more than the usual
};

// `code` is stable and for programs; `detail` says what was wrong and what to do about it.
Reply problem(int status, std::string_view code, std::string_view title, std::string_view detail);

Reply bad_request(std::string_view detail);
Reply not_found(std::string_view detail);
Reply conflict(std::string_view detail);
Reply store_unavailable(std::string_view reason);

}  // namespace oncekey::admin
