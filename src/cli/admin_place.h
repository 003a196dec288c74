// Where a command finds a gateway's admin port, and one question to it.
#pragma once

#include <string>
#include <string_view>

#include "cli/serve_options.h"
#include "http/address.h"
#include "oncekey/client.h"
#include "oncekey/result.h"

namespace oncekey::cli {

struct AdminPlace {
  http::HttpUrl url;
  std::string token;  // "": none
};

// `url` as it was given; "": the address that the configuration and the environment name. The token
// is ONCEKEY_ADMIN_TOKEN. The error is for people.
Result<AdminPlace, std::string> find_admin(const std::string& url, const std::string& config_file,
                                           const char* const* environment);

struct AdminRequest {
  std::string method = "GET";
  std::string target;
  std::string body;  // JSON
  DurationMs timeout_ms = 5'000;
};

// The error says why no whole answer came.
Result<ClientAnswer, std::string> ask(const AdminPlace& place, const AdminRequest& request);

}  // namespace oncekey::cli
