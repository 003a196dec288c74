// Where a command finds the admin port of a gateway or a worker, and one question to it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/flags.h"
#include "cli/serve_options.h"
#include "http/address.h"
#include "oncekey/client.h"
#include "oncekey/result.h"

namespace oncekey::cli {

enum class AdminRole { gateway, worker };

// What was said about the place; "" where nothing was.
struct AdminFlags {
  std::string url;
  std::string config_file;
  std::string token_file;
  AdminRole role = AdminRole::gateway;
};

// --admin, --config and --token-file. A token is never a flag: others can see those.
void declare_admin_flags(CLI::App& app, AdminFlags& flags);

struct AdminPlace {
  http::HttpUrl url;
  std::string token;  // "": none

  std::string text() const;  // http://host:port
};

// Without a URL the address is that of the configuration and the environment. The token is that of
// the file, or ONCEKEY_ADMIN_TOKEN. The error is for people.
Result<AdminPlace, std::string> find_admin(const AdminFlags& flags, const char* const* environment);

struct AdminRequest {
  std::string method = "GET";
  std::string target;
  std::string body;  // JSON
  DurationMs timeout_ms = 5'000;
  // Not null: takes the body of a 200 as it comes; `timeout_ms` is then the longest silence.
  std::function<void(std::string_view)> on_body = nullptr;
};

// No whole answer came.
struct Silence {
  std::string why;
  bool sent = false;  // the request may have been heard
};

Result<ClientAnswer, Silence> ask(const AdminPlace& place, const AdminRequest& request);

}  // namespace oncekey::cli
