// Texts of the configuration with a record's own parts in them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "boundary/json_document.h"
#include "oncekey/record.h"

namespace oncekey::recovery {

// {key}, {scope}, and {derived:PHASE}: the key that a call made in that phase carried
// (derived_key.h). {env:NAME} is a variable of the environment, for secrets in headers.
enum class PlaceholderUse { url, header };

// What is wrong with the text; nothing: it can be used.
std::optional<std::string> placeholder_problem(std::string_view text, PlaceholderUse use);

// In a URL what is filled in is percent-encoded; in a header control characters are left out.
std::string fill_in(std::string_view text, PlaceholderUse use, const RecordId& id);

// Another kind: {/pointer} is what stands there in a JSON answer, as JSON; null where nothing does.
std::string fill_in(std::string_view text, const JsonDocument& answer);

}  // namespace oncekey::recovery
