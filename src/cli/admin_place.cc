#include "cli/admin_place.h"

#include "client/attempt.h"
#include "gateway/config_file.h"

namespace oncekey::cli {
namespace {

constexpr std::size_t answer_size_max = 16 << 20;
constexpr std::string_view token_variable = "ONCEKEY_ADMIN_TOKEN=";

// An address that a server listens on everywhere is reached from here by the loopback.
std::string reachable(std::string address) {
  if (address.starts_with("0.0.0.0:")) return "127.0.0.1" + address.substr(7);
  if (address.starts_with("[::]:")) return "[::1]" + address.substr(4);
  return address;
}

Result<gateway::Config, std::string> configured(const std::string& config_file,
                                                const char* const* environment) {
  gateway::ConfigDraft draft;
  if (!config_file.empty()) gateway::read_config_file(draft, config_file);
  gateway::read_environment(draft, environment);
  // Only the address matters; what else may be wrong with the file is the gateway's to say. But a
  // file that is not read says nothing.
  if (!draft.errors.empty() && !draft.is_set("admin")) return to_string(draft.errors.front());
  return std::move(draft.config);
}

}  // namespace

Result<AdminPlace, std::string> find_admin(const std::string& url, const std::string& config_file,
                                           const char* const* environment) {
  std::string wanted = url;
  if (wanted.empty()) {
    auto config = configured(config_file, environment);
    if (!config) return config.error();
    wanted = "http://" + reachable(config->admin);
  }
  auto parsed = http::parse_http_url(wanted);
  if (!parsed) return wanted + ": " + parsed.error();
  AdminPlace place{*parsed, {}};
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with(token_variable)) place.token = variable.substr(token_variable.size());
  }
  return place;
}

Result<ClientAnswer, std::string> ask(const AdminPlace& place, const AdminRequest& request) {
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
  const client::Attempt attempt{place.url, request.method, bytes, request.timeout_ms,
                                answer_size_max};
  auto outcome = client::perform(attempt, {});
  if (auto* answer = std::get_if<ClientAnswer>(&outcome)) return std::move(*answer);
  const std::string why = std::holds_alternative<client::NothingSent>(outcome)
                              ? std::get<client::NothingSent>(outcome).error
                              : std::get<client::NoAnswer>(outcome).error;
  return "http://" + place.url.authority + request.target + ": " + why;
}

}  // namespace oncekey::cli
