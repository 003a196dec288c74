#include "admin/token_guard.h"

#include <arpa/inet.h>

#include <algorithm>
#include <stdexcept>

#include "boundary/ascii.h"
#include "gateway/durable_file.h"
#include "http/field.h"

namespace oncekey::admin {
namespace {

constexpr std::string_view how_to =
    "The gateway or worker itself needs one: write a line such as \"alice write TOKEN\" (openssl "
    "rand -hex 32 makes one) into a file that its admin_token_file names, or start it with "
    "ONCEKEY_ADMIN_TOKEN. Then send Authorization: Bearer TOKEN.";

// "host:port", "[v6]:port", "host": without the port and the brackets.
std::string host_of(std::string_view authority) {
  if (authority.starts_with('[')) {
    return std::string(authority.substr(1, authority.find(']') - 1));
  }
  return std::string(authority.substr(0, authority.rfind(':')));
}

bool is_address(const std::string& host) {
  unsigned char bytes[16];
  return ::inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

std::optional<std::string_view> header(const http::RequestHead& head, std::string_view name) {
  for (const http::Field& field : head.fields) {
    if (http::equals_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

// "": no token was sent.
std::string_view bearer_token(const http::RequestHead& head) {
  constexpr std::string_view scheme = "bearer ";
  const auto value = header(head, "Authorization");
  if (!value || value->size() <= scheme.size()) return {};
  if (!http::equals_ignoring_case(value->substr(0, scheme.size()), scheme)) return {};
  return trim(value->substr(scheme.size()));
}

Reply unauthorised(std::string_view detail) {
  Reply reply = problem(401, "unauthorized", "A token is needed", detail);
  reply.headers.push_back({"WWW-Authenticate", "Bearer realm=\"oncekey admin\""});
  return reply;
}

Reply forbidden(std::string_view detail) {
  return problem(403, "forbidden", "This is not allowed", detail);
}

bool is_json(std::string_view content_type) {
  return http::equals_ignoring_case(trim(content_type.substr(0, content_type.find(';'))),
                                    "application/json");
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_ino == b.st_ino && a.st_size == b.st_size && a.st_mtim.tv_sec == b.st_mtim.tv_sec &&
         a.st_mtim.tv_nsec == b.st_mtim.tv_nsec;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  // A name may begin like an address, and be anybody's.
  const bool begins_so = host.starts_with("127.") || host.starts_with("::ffff:127.");
  return host == "localhost" || host == "::1" || (begins_so && is_address(std::string(host)));
}

TokenGuard::TokenGuard(Sources sources) : sources_(std::move(sources)) {
  if (!sources_.file.empty()) ::stat(sources_.file.c_str(), &file_);
  auto tokens = read_tokens();
  if (!tokens) throw std::runtime_error("admin: " + tokens.error());
  tokens_ = std::move(*tokens);
  if (tokens_.empty() && !is_loopback_host(host_of(sources_.address))) {
    throw std::runtime_error("admin: " + sources_.address +
                             " can be reached from other machines, and there is no token. " +
                             std::string(how_to));
  }
}

Result<std::vector<Token>, std::string> TokenGuard::read_tokens() const {
  std::vector<Token> tokens;
  if (!sources_.file.empty()) {
    const auto content = gateway::read_small_file(sources_.file);
    if (!content) return "admin_token_file: " + content.error().message;
    auto parsed = parse_tokens(content->bytes);
    if (!parsed) return "admin_token_file: " + sources_.file + ": " + parsed.error();
    tokens = std::move(*parsed);
    if (content->readable_by_others) {
      sources_.report(sources_.file + ": other users can read the tokens; chmod 600 it");
    }
  }
  if (sources_.environment) {
    auto token = single_token("environment", *sources_.environment);
    if (!token) return "ONCEKEY_ADMIN_TOKEN: " + token.error();
    tokens.push_back(std::move(*token));
  }
  return tokens;
}

void TokenGuard::follow_file() {
  if (sources_.file.empty()) return;
  struct stat now {};
  ::stat(sources_.file.c_str(), &now);
  if (same_file(now, file_)) return;
  file_ = now;
  auto tokens = read_tokens();
  if (tokens) {
    tokens_ = std::move(*tokens);
    sources_.report(sources_.file + ": read again, " + std::to_string(tokens_.size()) + " tokens");
  } else {
    sources_.report(tokens.error() + "; the former tokens stay in force");
  }
}

bool TokenGuard::own_host(std::string_view authority) const {
  const std::string host = host_of(authority);
  // A page of another site can make a browser ask under that site's name, never under an address.
  if (is_address(host) || is_loopback_host(host)) return true;
  const auto same = [&](std::string_view name) { return equals_ignoring_case(name, host); };
  return same(host_of(sources_.address)) ||
         std::any_of(sources_.hosts.begin(), sources_.hosts.end(), same);
}

std::optional<Reply> TokenGuard::refuse_browser(const http::RequestHead& head) const {
  const std::string_view host = header(head, "Host").value_or("localhost");
  if (!own_host(host)) {
    return forbidden("The admin port is not known as \"" + std::string(host) +
                     "\". Ask by its address, or add the name to admin_hosts.");
  }
  const auto origin = header(head, "Origin");
  if (origin && *origin != "http://" + std::string(host) &&
      *origin != "https://" + std::string(host)) {
    return forbidden("Pages of other origins may not use the admin port.");
  }
  return std::nullopt;
}

std::variant<Reply, Caller> TokenGuard::admit(const http::RequestHead& head, std::string_view peer,
                                              Access access) {
  Caller caller{"", std::string(peer), false};
  if (access == Access::open) return caller;
  if (auto refusal = refuse_browser(head)) return *refusal;
  follow_file();
  if (tokens_.empty()) {
    if (!is_loopback_host(peer)) return forbidden("Without tokens only this machine may read.");
    if (access == Access::write) {
      return forbidden("Without tokens nothing can be changed. " + std::string(how_to));
    }
    caller.name = "loopback";
    return caller;
  }
  const std::string_view sent = bearer_token(head);
  if (sent.empty()) return unauthorised("Send Authorization: Bearer TOKEN, with a token of yours.");
  const Token* token = find_token(tokens_, sent);
  if (token == nullptr) return unauthorised("The token is not one of those in force.");
  caller.name = token->name;
  caller.may_write = token->may_write;
  if (access != Access::write) return caller;
  if (!caller.may_write) {
    return forbidden("The token \"" + caller.name +
                     "\" may only read: its line in admin_token_file says so.");
  }
  if (!is_json(header(head, "Content-Type").value_or(""))) {
    return problem(415, "unsupported_media_type", "The body must be JSON",
                   "Send Content-Type: application/json.");
  }
  return caller;
}

}  // namespace oncekey::admin
