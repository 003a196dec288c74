#include "gateway/setting_checks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

#include "gateway/route_pattern.h"
#include "http/client.h"
#include "http/field.h"
#include "recovery/placeholders.h"
#include "store/store_url.h"
#include "store/url_secrets.h"

namespace oncekey::gateway {
namespace {

using Problem = std::optional<SettingProblem>;

SettingProblem problem(std::string message, std::string hint = {}) {
  return {std::move(message), std::move(hint), {}};
}

// It may be a store's URL that was given as something else.
std::string quoted(std::string_view text) {
  return "\"" + store::without_passwords(text) + "\"";
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// Empty when `text` is host:port with a port of at least `port_min`.
std::string address_problem(std::string_view text, int port_min) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return quoted(text) + " has no port";
  const std::string_view host = text.substr(0, colon);
  const std::string_view port = text.substr(colon + 1);
  if (host.empty()) return quoted(text) + " has no host";
  if (!is_visible(host) || host.find_first_of("/@?#\\") != host.npos) {
    return quoted(host) + " is not a host";
  }
  const bool bracketed = host.front() == '[' && host.back() == ']';
  if (!bracketed && host.find_first_of("[]:") != host.npos) {
    return quoted(host) + " is not a host; an IPv6 address stands in brackets";
  }
  int number = -1;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  if (error != std::errc{} || end != port.data() + port.size() || number < port_min ||
      number > 65535) {
    return quoted(port) + " is not a port";
  }
  return {};
}

// Framing and routing belong to HTTP; a key in one of these would change the request itself.
constexpr std::array<std::string_view, 17> http_own_fields{"connection",     "content-encoding",
                                                           "content-length", "content-type",
                                                           "cookie",         "date",
                                                           "expect",         "host",
                                                           "keep-alive",     "proxy-connection",
                                                           "set-cookie",     "te",
                                                           "trailer",        "transfer-encoding",
                                                           "upgrade",        "via",
                                                           "authorization"};
// SPEC W2: a replay never repeats these.
constexpr std::array<std::string_view, 13> never_replayed{"set-cookie",
                                                          "set-cookie2",
                                                          "date",
                                                          "connection",
                                                          "keep-alive",
                                                          "te",
                                                          "trailer",
                                                          "upgrade",
                                                          "transfer-encoding",
                                                          "proxy-authenticate",
                                                          "proxy-connection",
                                                          "content-length",
                                                          "proxy-authorization"};

template <class List>
bool contains(const List& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

}  // namespace

bool is_loopback(std::string_view address) {
  const std::string_view host = address.substr(0, address.rfind(':'));
  return host.starts_with("127.") || host == "localhost" || host == "[::1]";
}

Problem check_anything(std::string_view) {
  return std::nullopt;
}

Problem check_address(std::string_view text) {
  const std::string wrong = address_problem(text, 0);  // 0: any free port, for tests
  if (wrong.empty()) return std::nullopt;
  return problem(wrong, "an address and a port, such as \"127.0.0.1:8080\"");
}

Problem check_collector(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto destination = http::parse_destination(text);
  if (destination) return std::nullopt;
  return problem(quoted(text) + " is not a collector: " + destination.error(),
                 "\"http://127.0.0.1:4318/v1/traces\"");
}

Problem check_upstream(std::string_view text) {
  const bool secure = text.starts_with("https://");
  if (!secure && !text.starts_with("http://")) {
    return problem(quoted(text) + " is not an upstream",
                   "\"http://host:port\" or \"https://host:port\"");
  }
  text.remove_prefix(secure ? 8 : 7);
  const std::size_t slash = text.find('/');
  std::string authority(text.substr(0, slash));
  if (slash != text.npos && (text.find_first_of("?#") != text.npos || !is_visible(text))) {
    return problem("an upstream has no query and no fragment", "\"http://host:port/base\"");
  }
  if (authority.rfind(':') == authority.npos || authority.back() == ']') {
    authority += secure ? ":443" : ":80";
  }
  const std::string wrong = address_problem(authority, 1);
  if (wrong.empty()) return std::nullopt;
  return problem(wrong, "\"http://host:port\"");
}

Problem check_store(std::string_view text) {
  const auto url = store::parse_store_url(text);
  if (url) return std::nullopt;
  return problem(url.error().message, url.error().hint);
}

Problem check_policy_url(std::string_view text) {
  const bool absolute = text.starts_with("http://") || text.starts_with("https://");
  const bool usable = is_visible(text) && text.find_first_of("<>\"#") == text.npos;
  if (usable && (absolute || (text.starts_with('/') && text.find('?') == text.npos)))
    return std::nullopt;
  return problem(quoted(text) + " is not a path or URL without fragment",
                 "\"/.well-known/idempotency\"");
}

Problem check_field_name(std::string_view text) {
  if (http::is_token(text) && text.size() <= 64) return std::nullopt;
  return problem(quoted(text) + " is not a header's name",
                 "letters, digits and -, at most 64, such as \"X-Tenant\"");
}

Problem check_key_header(std::string_view text) {
  if (Problem wrong = check_field_name(text)) return wrong;
  if (!contains(http_own_fields, lower(text))) return std::nullopt;
  return problem(quoted(text) + " has its own meaning in HTTP", "\"Idempotency-Key\"");
}

Problem check_replay_header(std::string_view text) {
  if (Problem wrong = check_field_name(text)) return wrong;
  if (!contains(never_replayed, lower(text))) return std::nullopt;
  return problem(quoted(text) + " must never be replayed",
                 "it belongs to one connection, one moment or one browser");
}

Problem check_pointer(std::string_view text) {
  if (!text.starts_with('/')) {
    return problem(quoted(text) + " is not a JSON pointer (RFC 6901)",
                   "\"/" + std::string(text.substr(text.starts_with("$.") ? 2 : 0)) + "\"");
  }
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '~' || (i + 1 < text.size() && (text[i + 1] == '0' || text[i + 1] == '1')))
      continue;
    return problem(quoted(text) + " is not a JSON pointer (RFC 6901)",
                   "~ is written ~0 and / in a name is written ~1");
  }
  return std::nullopt;
}

Problem check_tenant_name(std::string_view text) {
  if (!text.empty() && text.size() <= 128 && is_visible(text) && !text.starts_with("key:")) {
    return std::nullopt;
  }
  return problem(quoted(text) + " is not a tenant's name",
                 "1 to 128 visible ASCII characters without spaces, not starting with \"key:\"");
}

Problem check_probe(std::string_view text) {
  const std::string example = "\"/payments?idempotency_key={key}\"";
  if (text.starts_with('/') && (!is_visible(text) || text.find('#') != text.npos)) {
    return problem(quoted(text) + " is not a path on the upstream", example);
  }
  if (!text.starts_with('/')) {
    if (const auto url = http::parse_destination(text); !url) {
      return problem(url.error(), example + ", or a URL that begins with http:// or https://");
    }
  }
  if (const auto wrong = recovery::placeholder_problem(text, recovery::PlaceholderUse::url)) {
    return problem(*wrong, "{key}, {scope} or {derived:PHASE}");
  }
  if (text.find("{key}") == text.npos && text.find("{derived:") == text.npos) {
    return problem("names no key, so every record would get the same answer", example);
  }
  return std::nullopt;
}

Problem check_ledger(std::string_view text) {
  if (const auto url = http::parse_destination(text); !url) return problem(url.error());
  if (text.find("{after}") != text.npos) return std::nullopt;
  return problem("has no {after}, so only the first page would ever be read",
                 "\"http://provider/ledger?after={after}\"");
}

Problem check_path(std::string_view text) {
  if (text.starts_with('/') && is_visible(text) && text.find_first_of("?#") == text.npos) {
    return std::nullopt;
  }
  return problem(quoted(text) + " is not a path", "\"/webhooks\"");
}

Problem check_match(std::string_view text) {
  const auto pattern = parse_route_pattern(text);
  if (pattern) return std::nullopt;
  return problem(pattern.error().message, pattern.error().hint);
}

Problem check_probe_header(std::string_view text) {
  const std::size_t colon = text.find(':');
  const bool printable = std::none_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < ' ' || c == 0x7f;
  });
  if (colon == text.npos || !http::is_token(text.substr(0, colon)) || !printable) {
    return problem(quoted(text) + " is not a header", "\"X-Tenant: {scope}\"");
  }
  if (const auto wrong = recovery::placeholder_problem(text, recovery::PlaceholderUse::header)) {
    return problem(*wrong, "{key}, {scope}, {derived:PHASE} or {env:NAME}");
  }
  return std::nullopt;
}

}  // namespace oncekey::gateway
