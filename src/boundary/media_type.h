// What a Content-Type says about how to read a body.
#pragma once

#include <string>
#include <string_view>

namespace oncekey {

enum class BodyKind { json, form, other };

// application/json, any +json, application/x-www-form-urlencoded; all else is only bytes.
BodyKind body_kind(std::string_view content_type);

// Appends the media type for comparison: type and subtype in lower case, then its parameters as
// they were sent. `charset=utf-8` is dropped for json and form, where it changes nothing.
void append_media_type(std::string& out, std::string_view content_type);

}  // namespace oncekey
