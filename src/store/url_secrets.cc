#include "store/url_secrets.h"

#include <algorithm>
#include <vector>

namespace oncekey::store {
namespace {

constexpr std::string_view separators = "/?#@+&";
constexpr std::string_view also_between_pieces = ",:=[]";  // once it is taken for hosts or options
constexpr std::string_view parameter = "password=";
constexpr std::size_t piece_min = 4;  // shorter ones are found in any sentence

struct Range {
  std::size_t from = 0;
  std::size_t to = 0;
};

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
}

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'f');
}

// Behind "password=", "sslpassword=" and the like; npos: there is none.
std::size_t parameter_in(std::string_view text) {
  const auto found = std::search(text.begin(), text.end(), parameter.begin(), parameter.end(),
                                 [](char a, char b) { return lower(a) == b; });
  if (found == text.end()) return text.npos;
  return static_cast<std::size_t>(found - text.begin()) + parameter.size();
}

// "host", "[::1]:5432" or a list of such: what has a colon in it that is not before a password.
bool is_list_of_hosts(std::string_view text) {
  while (!text.empty()) {
    std::string_view host = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), host.size() + 1));
    if (host.starts_with('[')) host.remove_prefix(std::min(host.find(']'), host.size()));
    const std::size_t colon = host.find(':');
    if (colon == host.npos) continue;
    if (host.find_first_not_of("0123456789", colon + 1) != host.npos) return false;
  }
  return true;
}

// In one URL, which ends where `url` does; in their order.
std::vector<Range> secrets_in_part(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return {};
  const std::size_t start = scheme + 3;
  const std::size_t colon = url.find(':', start);
  const std::size_t last_at = url.rfind('@');
  const std::size_t value = parameter_in(url);
  const bool has_user = last_at != url.npos && last_at >= start;
  if (has_user && colon < last_at) {
    if (value == url.npos) return {{colon + 1, last_at}};
    if (value <= last_at) return {{std::min(colon + 1, value), url.size()}};  // which is it?
    return {{colon + 1, last_at}, {value, url.size()}};
  }
  if (value != url.npos) return {{value, url.size()}};
  if (has_user) {
    // Some give Redis a password without a user or colon.
    const bool is_redis = url.substr(0, scheme).find("redis") != url.npos;
    return is_redis ? std::vector<Range>{{start, last_at}} : std::vector<Range>{};
  }
  const std::string_view hosts = url.substr(start, url.find_first_of("/?", start) - start);
  if (colon != url.npos && !is_list_of_hosts(hosts)) return {{colon + 1, url.size()}};
  return {};
}

// Where the Redis of "postgres://…+redis://…" begins; npos: there is none, or the + is within what
// may be a password.
std::size_t second_part(std::string_view url) {
  const std::size_t join = url.find("+redis", std::min(url.find("://"), url.size()));
  if (join == url.npos || url.find("://", join) == url.npos) return url.npos;
  const std::string_view first = url.substr(0, join);
  if (parameter_in(first) != first.npos) return url.npos;
  if (first.find('@') == first.npos && !secrets_in_part(first).empty()) return url.npos;
  return join + 1;
}

std::vector<Range> secrets_in(std::string_view url) {
  const std::size_t second = second_part(url);
  if (second == url.npos) return secrets_in_part(url);
  std::vector<Range> secrets = secrets_in_part(url.substr(0, second - 1));
  for (const Range& secret : secrets_in_part(url.substr(second))) {
    secrets.push_back({secret.from + second, secret.to + second});
  }
  return secrets;
}

// %XX as bytes; what is not that stays as it is.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escaped =
        text[i] == '%' && i + 2 < text.size() && is_hex(text[i + 1]) && is_hex(text[i + 2]);
    if (!escaped) {
      plain.push_back(text[i]);
      continue;
    }
    plain.push_back(static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16)));
    i += 2;
  }
  return plain;
}

bool is_plain(std::string_view secret) {
  if (secret.find_first_of(separators) != secret.npos) return false;
  for (std::size_t at = secret.find('%'); at != secret.npos; at = secret.find('%', at + 1)) {
    if (at + 2 >= secret.size() || !is_hex(secret[at + 1]) || !is_hex(secret[at + 2])) return false;
  }
  return true;
}

void replace_all(std::string& text, std::string_view piece) {
  if (piece.size() < piece_min) return;
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 3)) {
    text.replace(at, piece.size(), "***");
  }
}

// As it was written, and as its readers understand it.
void hide(std::string& text, std::string_view piece) {
  replace_all(text, piece);
  replace_all(text, unescaped(piece));
}

}  // namespace

std::string without_passwords(std::string_view url) {
  std::string shown(url);
  const std::vector<Range> secrets = secrets_in(url);
  for (auto secret = secrets.rbegin(); secret != secrets.rend(); ++secret) {
    shown.replace(secret->from, secret->to - secret->from, "***");
  }
  return shown;
}

bool password_is_plain(std::string_view url) {
  const std::vector<Range> secrets = secrets_in(url);
  return std::all_of(secrets.begin(), secrets.end(), [&](const Range& secret) {
    return is_plain(url.substr(secret.from, secret.to - secret.from));
  });
}

std::string without_pieces_of_password(std::string_view url, std::string text) {
  for (const Range& range : secrets_in(url)) {
    std::string_view secret = url.substr(range.from, range.to - range.from);
    if (is_plain(secret)) continue;
    hide(text, secret);
    const std::string ends = std::string(separators).append(also_between_pieces);
    while (!secret.empty()) {
      const std::size_t end = std::min(secret.find_first_of(ends), secret.size());
      hide(text, secret.substr(0, end));
      secret.remove_prefix(std::min(end + 1, secret.size()));
    }
  }
  return text;
}

}  // namespace oncekey::store
