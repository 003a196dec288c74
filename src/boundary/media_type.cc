#include "boundary/media_type.h"

#include "boundary/ascii.h"

namespace oncekey {
namespace {

// Type and subtype without parameters.
std::string_view essence(std::string_view content_type) {
  return trim(content_type.substr(0, content_type.find(';')));
}

}  // namespace

BodyKind body_kind(std::string_view content_type) {
  constexpr std::string_view suffix = "+json";
  const auto type = essence(content_type);
  if (equals_ignoring_case(type, "application/json")) return BodyKind::json;
  if (equals_ignoring_case(type, "application/x-www-form-urlencoded")) return BodyKind::form;
  if (type.size() > suffix.size() &&
      equals_ignoring_case(type.substr(type.size() - suffix.size()), suffix)) {
    return BodyKind::json;
  }
  return BodyKind::other;
}

void append_media_type(std::string& out, std::string_view content_type) {
  for (const char c : essence(content_type)) out.push_back(lower(c));
  const auto semicolon = content_type.find(';');
  if (semicolon == std::string_view::npos) return;
  const auto parameters = trim(content_type.substr(semicolon + 1));
  const bool only_utf8 = equals_ignoring_case(parameters, "charset=utf-8") ||
                         equals_ignoring_case(parameters, "charset=\"utf-8\"");
  if (parameters.empty() || (only_utf8 && body_kind(content_type) != BodyKind::other)) return;
  out.push_back(';');
  out.append(parameters);
}

}  // namespace oncekey
