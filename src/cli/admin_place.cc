#include "cli/admin_place.h"

#include <algorithm>

#include "client/attempt.h"
#include "gateway/config_file.h"
#include "gateway/durable_file.h"

namespace oncekey::cli {
namespace {

constexpr std::size_t answer_size_max = 64 << 20;
constexpr std::string_view token_variable = "ONCEKEY_ADMIN_TOKEN=";

struct Found {
  std::string text;
};

// An address that a server listens on everywhere is reached from here by the loopback.
std::string reachable(std::string address) {
  if (address.starts_with("0.0.0.0:")) return "127.0.0.1" + address.substr(7);
  if (address.starts_with("[::]:")) return "[::1]" + address.substr(4);
  return address;
}

Result<Found, std::string> configured_admin(const AdminFlags& flags,
                                            const char* const* environment) {
  gateway::ConfigDraft draft;
  if (!flags.config_file.empty()) gateway::read_config_file(draft, flags.config_file);
  gateway::read_environment(draft, environment);
  const bool gateway = flags.role == AdminRole::gateway;
  // Only the address matters; what else may be wrong with the file is the gateway's to say. But a
  // file that is not read says nothing.
  if (!draft.errors.empty() && !draft.is_set(gateway ? "admin" : "worker.admin")) {
    return to_string(draft.errors.front());
  }
  return Found{gateway ? draft.config.admin : draft.config.worker.admin};
}

Result<Found, std::string> find_token(const AdminFlags& flags, const char* const* environment) {
  std::string token;
  std::string source = "ONCEKEY_ADMIN_TOKEN";
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with(token_variable)) token = variable.substr(token_variable.size());
  }
  if (!flags.token_file.empty()) {
    const auto content = gateway::read_small_file(flags.token_file);
    if (!content) return "--token-file: " + content.error().message;
    source = "--token-file " + flags.token_file;
    token = content->bytes;
    token.erase(token.find_last_not_of(" \t\r\n") + 1);
    if (token.empty()) return source + ": there is no token in it";
  }
  const bool one_word = std::all_of(token.begin(), token.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && static_cast<unsigned char>(c) < 0x7f;
  });
  if (!one_word) return source + ": a token is one word; put nothing but the token there";
  return Found{token};
}

}  // namespace

void declare_admin_flags(CLI::App& app, AdminFlags& flags) {
  const auto where = "Where";
  const std::string port = flags.role == AdminRole::gateway ? "8081" : "8082";
  const std::string whose = flags.role == AdminRole::gateway ? "gateway" : "worker";
  app.add_option("--admin,--url", flags.url, "the admin port [http://127.0.0.1:" + port + "]")
      ->type_name("URL")
      ->group(where);
  app.add_option("--config", flags.config_file,
                 "the " + whose + "'s configuration, for its admin address")
      ->type_name("FILE")
      ->group(where);
  app.add_option("--token-file", flags.token_file,
                 "a file with nothing but the token, instead of ONCEKEY_ADMIN_TOKEN")
      ->type_name("FILE")
      ->group(where);
}

std::string AdminPlace::text() const {
  return (url.secure ? "https://" : "http://") + url.authority;
}

Result<AdminPlace, std::string> find_admin(const AdminFlags& flags,
                                           const char* const* environment) {
  std::string wanted = flags.url;
  if (wanted.empty()) {
    auto address = configured_admin(flags, environment);
    if (!address) return address.error();
    wanted = reachable(address->text);
  }
  if (wanted.find("://") == std::string::npos) wanted.insert(0, "http://");
  auto parsed = http::parse_http_url(wanted);
  if (!parsed) return wanted + ": " + parsed.error();
  auto token = find_token(flags, environment);
  if (!token) return token.error();
  return AdminPlace{*parsed, token->text};
}

Result<ClientAnswer, Silence> ask(const AdminPlace& place, const AdminRequest& request) {
  std::string bytes = request.method + " " + place.url.base_path + request.target +
                      " HTTP/1.1\r\nHost: " + place.url.authority +
                      "\r\nConnection: close\r\nAccept: application/json\r\n";
  if (!place.token.empty()) bytes += "Authorization: Bearer " + place.token + "\r\n";
  if (request.method != "GET") {
    bytes +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(request.body.size()) +
        "\r\n";
  }
  bytes += "\r\n" + request.body;
  client::Attempt attempt{place.url, request.method, bytes, request.timeout_ms, answer_size_max};
  attempt.on_body = request.on_body;
  auto outcome = client::perform(attempt, {});
  if (auto* answer = std::get_if<ClientAnswer>(&outcome)) return std::move(*answer);
  const std::string at = place.text() + request.target.substr(0, request.target.find('?')) + ": ";
  if (const auto* nothing = std::get_if<client::NothingSent>(&outcome)) {
    return Silence{at + nothing->error, false};
  }
  return Silence{at + std::get<client::NoAnswer>(outcome).error, true};
}

}  // namespace oncekey::cli
