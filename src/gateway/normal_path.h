// One form for the many spellings of a path, so that a request cannot slip past a route by being
// written another way. What is forwarded upstream is never changed.
#pragma once

#include <string>
#include <string_view>

namespace oncekey::gateway {

// The path in a request target: without scheme and authority (absolute form), query and fragment.
std::string_view target_path(std::string_view target);

// Whether both functions below would change nothing but a slash at the end.
bool is_plain_path(std::string_view path);

// RFC 3986 normal form: unreserved characters decoded, other escapes in upper case, dot segments
// removed, repeated slashes one. Every server that follows the RFC agrees with this reading.
std::string normal_path(std::string_view path);

// The most permissive reading an upstream may have: every escape decoded, again and again, `\` is a
// slash, `;parameters`, a decoded `?` or `#` and control characters dropped, then as normal_path
// without a slash at the end.
std::string loose_path(std::string_view path);

}  // namespace oncekey::gateway
