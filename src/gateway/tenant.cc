#include "gateway/tenant.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>

#include "boundary/ascii.h"
#include "http/field.h"
#include "oncekey/assert.h"

namespace oncekey::gateway {
namespace {

using Reason = TenantError::Reason;

// Keeps this use of the secret apart from every other one.
constexpr std::string_view hash_label = "oncekey tenant api_key 1";
constexpr std::size_t scope_hash_bytes = 16;

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

}  // namespace

Result<std::string_view, TenantError> only_value(std::string_view header, HeaderLines lines,
                                                 std::size_t length_max) {
  if (lines.empty()) return refuse(Reason::missing, header, "is missing");
  if (lines.size() > 1) return refuse(Reason::several_lines, header, "was sent more than once");
  const std::string_view value = trim(lines.front());
  if (value.empty()) return refuse(Reason::empty, header, "is empty");
  if (value.size() > length_max) return refuse(Reason::too_long, header, "is too long");
  return value;
}

Result<std::string_view, TenantError> proxy_value(std::string_view header, HeaderLines lines) {
  Result<std::string_view, TenantError> value = only_value(header, lines, tenant_length_max);
  if (!value) return value;
  // A comma may be two lines that a proxy joined: the client's own and the trusted one.
  if (!is_visible(*value) || value->find(',') != std::string_view::npos) {
    return refuse(Reason::bad_character, header,
                  "may only have visible ASCII characters without comma");
  }
  return value;
}

Result<std::string, TenantError> header_tenant(const TenantConfig& config, HeaderLines lines) {
  const Result<std::string_view, TenantError> value = proxy_value(config.header, lines);
  if (!value) return value.error();
  if (value->starts_with("key:")) {
    return refuse(Reason::bad_character, config.header, "must not start with key:");
  }
  return std::string(*value);
}

Result<ApiKey, TenantError> read_api_key(const TenantConfig& config, HeaderLines lines) {
  const std::string_view header = config.api_key_header;
  Result<std::string_view, TenantError> value = only_value(header, lines, api_key_length_max);
  if (!value) return value.error();
  ApiKey sent{{}, *value};
  if (const std::size_t space = sent.key.find(' '); space != std::string_view::npos) {
    sent.scheme = sent.key.substr(0, space);
    sent.key = trim(sent.key.substr(space));
    if (http::equals_ignoring_case(sent.scheme, "bearer")) {
      sent.scheme = {};  // the same key as when it is sent bare
    } else if (http::equals_ignoring_case(sent.scheme, "basic")) {
      sent.scheme = "basic";
    } else {
      return refuse(Reason::unknown_scheme, header, "must be Bearer or Basic with an API key");
    }
  } else if (http::equals_ignoring_case(sent.key, "bearer") ||
             http::equals_ignoring_case(sent.key, "basic")) {
    return refuse(Reason::empty, header, "has no API key");
  }
  if (!is_visible(sent.key)) {
    return refuse(Reason::bad_character, header, "may only have visible ASCII characters");
  }
  const bool configured = !config.api_keys_file.empty();
  if (!configured && sent.scheme.empty() && !config.api_key_allow_jwt && looks_like_jwt(sent.key)) {
    return refuse(Reason::token, header, "has a token that changes; an API key is needed");
  }
  return sent;
}

std::string hashed_tenant(std::string_view secret, const ApiKey& key) {
  std::string message(hash_label);
  message.push_back('\0');
  message.append(key.scheme)
      .push_back('\0');  // a scheme has no NUL, so the parts cannot run together
  message.append(key.key);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  const unsigned char* made = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   reinterpret_cast<const unsigned char*>(message.data()),
                                   message.size(), digest.data(), &size);
  ONCEKEY_ASSERT(made != nullptr && size >= scope_hash_bytes);
  static constexpr char hex[] = "0123456789abcdef";
  std::string tenant = "key:";
  for (std::size_t i = 0; i < scope_hash_bytes; ++i) {
    tenant.push_back(hex[digest[i] >> 4]);
    tenant.push_back(hex[digest[i] & 15]);
  }
  return tenant;
}

Result<std::string_view, TenantError> read_token(const TenantConfig& config, HeaderLines lines) {
  constexpr std::string_view scheme = "bearer ";
  const std::string_view header = config.token_header;
  Result<std::string_view, TenantError> value =
      only_value(header, lines, config.token.length_max + scheme.size());
  if (!value) return value;
  if (http::equals_ignoring_case(value->substr(0, scheme.size()), scheme)) {
    return trim(value->substr(scheme.size()));
  }
  if (http::equals_ignoring_case(header, "authorization")) {
    return refuse(Reason::unknown_scheme, header, "must be Bearer with a token");
  }
  return value;
}

std::string_view tenant_header(const TenantConfig& config) {
  switch (config.from) {
    case TenantFrom::single:
    case TenantFrom::mtls:
      return {};
    case TenantFrom::header:
      return config.header;
    case TenantFrom::api_key:
      return config.api_key_header;
    case TenantFrom::jwt:
      return config.token_header;
  }
  ONCEKEY_ASSERT(false);
}

}  // namespace oncekey::gateway
