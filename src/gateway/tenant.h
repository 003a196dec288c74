// Whose key it is. Two tenants never share a record, so what names the tenant must come from the
// caller's credentials and be exactly one thing: whatever is unclear is refused, not guessed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "gateway/config.h"
#include "oncekey/result.h"

namespace oncekey::gateway {

inline constexpr std::size_t tenant_length_max = 128;
inline constexpr std::size_t api_key_length_max = 4096;

struct TenantError {  // the gateway answers 401
  enum class Reason {
    missing,
    several_lines,
    empty,
    too_long,
    bad_character,
    unknown_scheme,  // not Bearer or Basic: such credentials change with every request
    token,           // a JWT changes when it is refreshed, and the scope with it
    untrusted,       // the header came from an address that may not set it
    refused,         // an API key, a token or a certificate that gives no access
  };
  Reason reason;
  std::string detail;  // for the client; never repeats the credentials
};

// The header that names the tenant; "" when none is needed.
std::string_view tenant_header(const TenantConfig& config);

// What the two functions below read: the values of all header lines of one name, in order.
using HeaderLines = std::span<const std::string_view>;

// The one value that a header should have, without the white space around it.
Result<std::string_view, TenantError> only_value(std::string_view header, HeaderLines lines,
                                                 std::size_t length_max);

// As a trusted proxy writes a name: visible ASCII characters without comma.
Result<std::string_view, TenantError> proxy_value(std::string_view header, HeaderLines lines);

// tenant.from = "header": the header's value is the tenant.
Result<std::string, TenantError> header_tenant(const TenantConfig& config, HeaderLines lines);

struct ApiKey {
  std::string_view scheme;  // "": Bearer, or the bare key; "basic"
  std::string_view key;
};
Result<ApiKey, TenantError> read_api_key(const TenantConfig& config, HeaderLines lines);

// tenant.from = "api_key" without a file: "key:" and 32 hexadecimal digits of a keyed hash. The API
// key itself is never kept.
std::string hashed_tenant(std::string_view secret, const ApiKey& key);

// A token as it was sent: after Bearer, or alone where the header is not Authorization.
Result<std::string_view, TenantError> read_token(const TenantConfig& config, HeaderLines lines);

}  // namespace oncekey::gateway
