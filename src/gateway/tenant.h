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
  };
  Reason reason;
  std::string detail;  // for the client; never repeats the credentials
};

// The header that names the tenant; "" when none is needed.
std::string_view tenant_header(const TenantConfig& config);

// `lines` are the values of all header lines named tenant_header(), in order. The scope is
//   single:  the configured name
//   header:  the header's value
//   api_key: "key:" and 32 hexadecimal digits of a keyed hash; the API key itself is never kept
Result<std::string, TenantError> resolve_tenant(const TenantConfig& config, std::string_view secret,
                                                std::span<const std::string_view> lines);

}  // namespace oncekey::gateway
