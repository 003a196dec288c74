#include "recovery/placeholders.h"

#include <cstdlib>

#include "boundary/ascii.h"
#include "oncekey/derived_key.h"

namespace oncekey::recovery {
namespace {

constexpr std::string_view derived = "derived:";
constexpr std::string_view environment = "env:";

// Calls `plain(text)` and `placeholder(name)` in turn. A brace that is never closed is plain.
template <class Plain, class Placeholder>
void for_each_part(std::string_view text, Plain plain, Placeholder placeholder) {
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    const std::size_t close = open == text.npos ? text.npos : text.find('}', open);
    if (close == text.npos) break;
    plain(text.substr(0, open));
    placeholder(text.substr(open + 1, close - open - 1));
    text.remove_prefix(close + 1);
  }
  plain(text);
}

std::string value_of(std::string_view name, const RecordId& id) {
  if (name == "key") return id.key;
  if (name == "scope") return id.scope;
  if (name.starts_with(derived)) return derive_key(id, name.substr(derived.size()));
  const char* value = std::getenv(std::string(name.substr(environment.size())).c_str());
  return value ? value : "";
}

void append_percent_encoded(std::string& out, std::string_view text) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : text) {
    if (is_alnum(c) || c == '-' || c == '.' || c == '_' || c == '~') {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.append({'%', digits[byte >> 4], digits[byte & 15]});
    }
  }
}

void append_field_text(std::string& out, std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= ' ' && c != 0x7f) out.push_back(c);
  }
}

}  // namespace

std::optional<std::string> placeholder_problem(std::string_view text, PlaceholderUse use) {
  std::optional<std::string> problem;
  const auto check = [&](std::string_view name) {
    const bool secret = name.starts_with(environment);
    if (name == "key" || name == "scope") return;
    if (name.starts_with(derived) && name.size() > derived.size()) return;
    if (secret && name.size() > environment.size() && use == PlaceholderUse::header) return;
    problem = "there is no placeholder {" + std::string(name) + "}";
    if (secret) problem = "{env:NAME} belongs into headers: URLs end up in logs";
  };
  for_each_part(
      text, [](std::string_view) {}, check);
  return problem;
}

std::string fill_in(std::string_view text, PlaceholderUse use, const RecordId& id) {
  std::string out;
  for_each_part(
      text, [&](std::string_view plain) { out.append(plain); },
      [&](std::string_view name) {
        const std::string value = value_of(name, id);
        use == PlaceholderUse::url ? append_percent_encoded(out, value)
                                   : append_field_text(out, value);
      });
  return out;
}

std::string fill_in(std::string_view text, const JsonDocument& answer) {
  std::string out;
  // A brace of the JSON itself is followed by a quote, by space or by its end: never by a slash.
  for (std::size_t open = 0; (open = text.find("{/")) != text.npos;) {
    const std::size_t close = text.find('}', open);
    if (close == text.npos) break;
    out.append(text.substr(0, open));
    out.append(answer.json_at(text.substr(open + 1, close - open - 1)).value_or("null"));
    text.remove_prefix(close + 1);
  }
  out.append(text);
  return out;
}

}  // namespace oncekey::recovery
