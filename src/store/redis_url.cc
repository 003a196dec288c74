#include "store/redis_url.h"

#include <charconv>
#include <optional>

#include "store/url_secrets.h"

namespace oncekey::store {
namespace {

constexpr std::string_view options_known = "wait, wait_timeout, allow_eviction and socket";
constexpr int wait_replicas_max = 100;
constexpr int database_max = 1'000'000;

template <class Number>
std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

// %XX as bytes; a percent sign without two digits is an error.
std::optional<std::string> unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain.push_back(text[i]);
      continue;
    }
    unsigned byte = 0;
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (digits.size() != 2 || error != std::errc() || end != digits.data() + 2) return {};
    plain.push_back(static_cast<char>(byte));
    i += 2;
  }
  return plain;
}

// "100ms" or "2s".
std::optional<DurationMs> duration_of(std::string_view text) {
  DurationMs unit_ms = 0;
  if (text.ends_with("ms")) {
    unit_ms = 1;
    text.remove_suffix(2);
  } else if (text.ends_with('s')) {
    unit_ms = 1000;
    text.remove_suffix(1);
  }
  const auto count = number_of<std::uint32_t>(text);
  if (unit_ms == 0 || !count) return {};
  return *count * unit_ms;
}

std::optional<std::string> take_address(RedisUrl& url, std::string_view text) {
  RedisAddress address;
  std::string_view port;
  if (text.starts_with('[')) {  // an IPv6 address
    const std::size_t end = text.find(']');
    if (end == text.npos) return "the host has a [ without a ]";
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = text.find(':');
    address.host = text.substr(0, colon);
    if (colon != text.npos) port = text.substr(colon);
  }
  if (address.host.empty()) return "a host is missing";
  if (!port.empty()) {
    const auto number = number_of<std::uint16_t>(port.substr(1));
    if (port[0] != ':' || !number || *number == 0) {
      return "the port of " + address.host + " is not a number from 1 to 65535";
    }
    address.port = *number;
  }
  url.addresses.push_back(std::move(address));
  return {};
}

std::optional<std::string> take_option(RedisUrl& url, std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view name = option.substr(0, equals);
  const std::string_view value = equals == option.npos ? "" : option.substr(equals + 1);
  if (name == "wait") {
    const auto replicas = number_of<int>(value);
    if (!replicas || *replicas < 0 || *replicas > wait_replicas_max) {
      return "wait must be a number of replicas from 0 to " + std::to_string(wait_replicas_max);
    }
    url.wait_replicas = *replicas;
    return {};
  }
  if (name == "wait_timeout") {
    const auto timeout = duration_of(value);
    if (!timeout || *timeout == 0) return "wait_timeout must be a time such as 100ms";
    url.wait_timeout_ms = *timeout;
    return {};
  }
  if (name == "allow_eviction") {
    if (value != "0" && value != "1") return "allow_eviction must be 0 or 1";
    url.allow_eviction = value == "1";
    return {};
  }
  if (name == "socket") {
    const auto path = unescape(value);
    if (!path || path->empty() || path->front() != '/') return "socket must be an absolute path";
    url.addresses.push_back({*path, 0});
    return {};
  }
  return "unknown option \"" + std::string(name) + "\"; there are " + std::string(options_known);
}

std::optional<std::string> take_credentials(RedisUrl& url, std::string_view text) {
  const std::size_t colon = text.find(':');
  const auto user = unescape(text.substr(0, colon));
  const auto password = unescape(colon == text.npos ? "" : text.substr(colon + 1));
  if (!user || !password) return "a % in the user or password is not followed by two hex digits";
  url.user = *user;
  url.password = *password;
  if (!url.user.empty() && url.password.empty()) return "the user has no password";
  return {};
}

std::optional<std::string> take_hosts(RedisUrl& url, std::string_view hosts) {
  while (!hosts.empty()) {
    const std::size_t comma = hosts.find(',');
    if (auto error = take_address(url, hosts.substr(0, comma))) return error;
    hosts.remove_prefix(comma == hosts.npos ? hosts.size() : comma + 1);
  }
  return {};
}

std::optional<std::string> take_options(RedisUrl& url, std::string_view options) {
  while (!options.empty()) {
    const std::size_t end = options.find('&');
    if (auto error = take_option(url, options.substr(0, end))) return error;
    options.remove_prefix(end == options.npos ? options.size() : end + 1);
  }
  return {};
}

std::optional<std::string> take_database(RedisUrl& url, std::string_view text) {
  if (text.empty()) return {};
  const auto number = number_of<int>(text);
  if (!number || *number < 0 || *number > database_max) {
    return "the database after the host must be a number, as in redis://HOST/0";
  }
  if (url.cluster && *number != 0) return "a cluster has only database 0";
  url.database = *number;
  return {};
}

Result<RedisUrl, std::string> read_url(std::string_view text) {
  RedisUrl url;
  url.cluster = text.starts_with("redis+cluster://");
  if (!url.cluster && !text.starts_with("redis://")) {
    return std::string("a Redis URL begins with redis:// or redis+cluster://");
  }
  text.remove_prefix(text.find("://") + 3);

  // What is not a letter or digit in a password is best written as %XX; / and ? must be.
  const std::size_t at = text.substr(0, text.find_first_of("/?")).rfind('@');
  if (at != text.npos) {
    if (auto error = take_credentials(url, text.substr(0, at))) return *error;
    text.remove_prefix(at + 1);
  }
  const std::size_t query = text.find('?');
  const std::string_view options = query == text.npos ? "" : text.substr(query + 1);
  text = text.substr(0, query);
  const std::size_t slash = text.find('/');
  const std::string_view database = slash == text.npos ? "" : text.substr(slash + 1);
  if (auto error = take_hosts(url, text.substr(0, slash))) return *error;
  if (auto error = take_database(url, database)) return *error;
  if (auto error = take_options(url, options)) return *error;
  if (url.addresses.empty()) return std::string("the host is missing, as in redis://HOST");
  return url;
}

}  // namespace

std::string to_string(const RedisAddress& address) {
  if (address.port == 0) return address.host;
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  const std::string host = is_ipv6 ? "[" + address.host + "]" : address.host;
  return host + ":" + std::to_string(address.port);
}

Result<RedisUrl, std::string> parse_redis_url(std::string_view text) {
  auto url = read_url(text);
  if (url || password_is_plain(text)) return url;
  // What was taken for a host or an option may be a piece of the password.
  return without_pieces_of_password(text, url.error()) + "; if the password was misread, " +
         std::string(how_to_write_a_password);
}

}  // namespace oncekey::store
