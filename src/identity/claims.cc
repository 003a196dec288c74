#include "identity/claims.h"

#include <cmath>

#include "boundary/canonical_json.h"

namespace oncekey::identity {
namespace {

using simdjson::SUCCESS;
using simdjson::dom::element;

constexpr double seconds_max = 1e12;  // some thirty thousand years

}  // namespace

bool Claims::read(std::string_view json) {
  // Readers differ in which of two members of one name they take; so there must not be two.
  return canonical_json(json) &&
         parser_.parse(json.data(), json.size()).get_object().get(root_) == SUCCESS;
}

bool Claims::has(std::string_view name) const {
  element found;
  return root_.at_key(name).get(found) == SUCCESS;
}

std::optional<std::string> Claims::text(std::string_view name) const {
  std::string_view text;
  if (root_.at_key(name).get_string().get(text) != SUCCESS) return std::nullopt;
  return std::string(text);
}

std::optional<std::vector<std::string>> Claims::texts(std::string_view name) const {
  if (auto single = text(name)) return std::vector<std::string>{*single};
  simdjson::dom::array list;
  if (root_.at_key(name).get_array().get(list) != SUCCESS) return std::nullopt;
  std::vector<std::string> all;
  for (const element entry : list) {
    std::string_view text;
    if (entry.get_string().get(text) != SUCCESS) return std::nullopt;
    all.emplace_back(text);
  }
  return all;
}

std::optional<TimestampMs> Claims::time(std::string_view name) const {
  double seconds = 0;
  if (root_.at_key(name).get_double().get(seconds) != SUCCESS) return std::nullopt;
  if (!(std::abs(seconds) <= seconds_max)) return std::nullopt;
  return static_cast<TimestampMs>(std::floor(seconds * 1'000));
}

std::optional<ClaimValue> Claims::value(std::string_view place) const {
  element found;
  const bool there = place.starts_with('/') ? root_.at_pointer(place).get(found) == SUCCESS
                                            : root_.at_key(place).get(found) == SUCCESS;
  if (!there) return std::nullopt;
  std::string_view text;
  if (found.get_string().get(text) == SUCCESS) {
    if (text.empty()) return std::nullopt;
    return ClaimValue{std::string(text), false};
  }
  if (found.is_int64() || found.is_uint64()) return ClaimValue{simdjson::minify(found), true};
  return std::nullopt;
}

}  // namespace oncekey::identity
