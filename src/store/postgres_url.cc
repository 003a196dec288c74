#include "store/postgres_url.h"

#include <libpq-fe.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "store/url_secrets.h"
#include "transaction/postgres_text.h"

namespace oncekey::store {
namespace {

using Parameters = std::map<std::string, std::string>;

constexpr std::array<std::string_view, 6> ssl_modes{"disable", "allow",     "prefer",
                                                    "require", "verify-ca", "verify-full"};

bool is_port(std::string_view text) {
  unsigned short port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port > 0;
}

// An empty one is libpq's default.
bool are_ports(std::string_view list) {
  while (!list.empty()) {
    const std::string_view port = list.substr(0, list.find(','));
    if (!port.empty() && !is_port(port)) return false;
    list.remove_prefix(std::min(list.size(), port.size() + 1));
  }
  return true;
}

// libpq finds these when it connects, and then it is not certain that the URL is to blame.
std::string problem_in(const Parameters& given, const std::string& url) {
  const auto value = [&](const char* name) -> std::string_view {
    const auto found = given.find(name);
    return found == given.end() ? std::string_view() : std::string_view(found->second);
  };
  if (value("host").find('@') != std::string_view::npos) return "the host has an @ in it";
  if (value("dbname").find('@') != std::string_view::npos && !password_is_plain(url)) {
    return "the database's name has an @ in it";
  }
  if (!are_ports(value("port"))) return "the port is not a number from 1 to 65535";
  const std::string_view mode = value("sslmode");
  if (!mode.empty() && std::find(ssl_modes.begin(), ssl_modes.end(), mode) == ssl_modes.end()) {
    return "sslmode must be disable, allow, prefer, require, verify-ca or verify-full";
  }
  return "";
}

Result<Parameters, std::string> parse(const std::string& url) {
  char* said = nullptr;
  PQconninfoOption* const options = PQconninfoParse(url.c_str(), &said);
  if (options == nullptr) {
    // libpq repeats what it does not understand, and that may be a piece of the password.
    const std::string why = said != nullptr && password_is_plain(url)
                                ? ": " + transaction::one_line(said)
                                : std::string();
    PQfreemem(said);
    return "libpq cannot read the URL" + why;
  }
  Parameters given;
  for (const PQconninfoOption* option = options; option->keyword != nullptr; ++option) {
    if (option->val != nullptr) given[option->keyword] = option->val;
  }
  PQconninfoFree(options);
  const std::string problem = problem_in(given, url);
  if (!problem.empty()) return problem;
  return given;
}

}  // namespace

Result<Parameters, std::string> read_postgres_url(const std::string& url) {
  auto given = parse(url);
  if (given || password_is_plain(url)) return given;
  return given.error() + "; if the password was misread, " + std::string(how_to_write_a_password);
}

}  // namespace oncekey::store
