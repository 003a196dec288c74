#include "gateway/tenant.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include "http/field.h"
#include "oncekey/assert.h"

namespace oncekey::gateway {
namespace {

using Reason = TenantError::Reason;

// Keeps this use of the secret apart from every other one.
constexpr std::string_view hash_label = "oncekey tenant api_key 1";
constexpr std::size_t scope_hash_bytes = 16;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

// header.payload.signature, where the header is a JSON object: base64url of `{"` begins with eyJ.
bool looks_like_jwt(std::string_view text) {
  return text.starts_with("eyJ") && std::count(text.begin(), text.end(), '.') == 2;
}

TenantError refuse(Reason reason, std::string_view header, std::string_view what) {
  return {reason, "The header " + std::string(header) + " " + std::string(what) + "."};
}

// The one usable value of the header, or why there is none.
Result<std::string_view, TenantError> only_value(std::string_view header,
                                                 std::span<const std::string_view> lines,
                                                 std::size_t length_max) {
  if (lines.empty()) return refuse(Reason::missing, header, "is missing");
  if (lines.size() > 1) return refuse(Reason::several_lines, header, "was sent more than once");
  const std::string_view value = trimmed(lines.front());
  if (value.empty()) return refuse(Reason::empty, header, "is empty");
  if (value.size() > length_max) return refuse(Reason::too_long, header, "is too long");
  return value;
}

Result<std::string, TenantError> header_scope(const TenantConfig& config,
                                              std::span<const std::string_view> lines) {
  Result<std::string_view, TenantError> value = only_value(config.header, lines, tenant_length_max);
  if (!value) return value.error();
  // A comma may be two lines that a proxy joined: the client's own and the trusted one.
  if (!is_visible(*value) || value->find(',') != std::string_view::npos) {
    return refuse(Reason::bad_character, config.header,
                  "may only have visible ASCII characters without comma");
  }
  if (value->starts_with("key:")) {
    return refuse(Reason::bad_character, config.header, "must not start with key:");
  }
  return std::string(*value);
}

std::string hashed_scope(std::string_view secret, std::string_view scheme, std::string_view key) {
  std::string message(hash_label);
  message.push_back('\0');
  message.append(scheme).push_back('\0');  // a scheme has no NUL, so the parts cannot run together
  message.append(key);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(message.data()),
                                   message.size(), digest.data(), &size);
  ONCEKEY_ASSERT(made != nullptr && size >= scope_hash_bytes);
  static constexpr char hex[] = "0123456789abcdef";
  std::string scope = "key:";
  for (std::size_t i = 0; i < scope_hash_bytes; ++i) {
    scope.push_back(hex[digest[i] >> 4]);
    scope.push_back(hex[digest[i] & 15]);
  }
  return scope;
}

Result<std::string, TenantError> api_key_scope(const TenantConfig& config, std::string_view secret,
                                               std::span<const std::string_view> lines) {
  const std::string_view header = config.api_key_header;
  Result<std::string_view, TenantError> value = only_value(header, lines, api_key_length_max);
  if (!value) return value.error();
  std::string_view credentials = *value;
  std::string_view scheme;
  if (const std::size_t space = credentials.find(' '); space != std::string_view::npos) {
    scheme = credentials.substr(0, space);
    credentials = trimmed(credentials.substr(space));
    if (http::equals_ignoring_case(scheme, "bearer")) {
      scheme = {};  // the same key as when it is sent bare
    } else if (http::equals_ignoring_case(scheme, "basic")) {
      scheme = "basic";
    } else {
      return refuse(Reason::unknown_scheme, header, "must be Bearer or Basic with an API key");
    }
  } else if (http::equals_ignoring_case(credentials, "bearer") ||
             http::equals_ignoring_case(credentials, "basic")) {
    return refuse(Reason::empty, header, "has no API key");
  }
  if (!is_visible(credentials)) {
    return refuse(Reason::bad_character, header, "may only have visible ASCII characters");
  }
  if (scheme.empty() && !config.api_key_allow_jwt && looks_like_jwt(credentials)) {
    return refuse(Reason::token, header, "has a token that changes; an API key is needed");
  }
  return hashed_scope(secret, scheme, credentials);
}

}  // namespace

std::string_view tenant_header(const TenantConfig& config) {
  switch (config.from) {
    case TenantFrom::single:
      return {};
    case TenantFrom::header:
      return config.header;
    case TenantFrom::api_key:
      return config.api_key_header;
  }
  ONCEKEY_ASSERT(false);
}

Result<std::string, TenantError> resolve_tenant(const TenantConfig& config, std::string_view secret,
                                                std::span<const std::string_view> lines) {
  switch (config.from) {
    case TenantFrom::single:
      return config.name;
    case TenantFrom::header:
      return header_scope(config, lines);
    case TenantFrom::api_key:
      return api_key_scope(config, secret, lines);
  }
  ONCEKEY_ASSERT(false);
}

}  // namespace oncekey::gateway
