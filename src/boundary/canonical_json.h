// One text for all JSON documents that mean the same (RFC 8785), and never one text for two that
// differ: numbers keep their exact value, and what has no certain meaning has no canonical form.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "boundary/decimal.h"
#include "oncekey/fingerprint.h"

namespace oncekey {

// Deeper documents have no canonical form: the reader recurses, and its stack is bounded.
inline constexpr std::size_t json_depth_max = 100;

// Replaces `out` by the canonical form of `document`. False: there is none, because the document
// is not JSON, has a name twice in one object, is not UTF-8, has a lone surrogate, nests deeper
// than json_depth_max or has a number with an absurd exponent.
//
// Members are sorted by the UTF-16 code units of their names.
// With `rules`, the result is the canonical form of the parts that count, and no longer always
// JSON: an excluded array element leaves a `!` in its place so that its neighbours keep theirs, a
// value that stands where an included pointer goes on is a `!`, and an array of which only some
// elements are included gives each its index. An excluded member leaves nothing. A rule that is no
// JSON pointer also means that there is no canonical form.
bool canonicalize_json(std::string_view document, const FingerprintRules& rules, std::string& out,
                       NumberForm form = NumberForm::exact);

std::optional<std::string> canonical_json(std::string_view document,
                                          const FingerprintRules& rules = {},
                                          NumberForm form = NumberForm::exact);

}  // namespace oncekey
