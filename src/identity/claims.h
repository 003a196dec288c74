// A JSON object of a token, in which every name stands once.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "identity/token.h"

namespace oncekey::identity {

class Claims {
 public:
  // False: it is not a JSON object, or has a name twice, and there is nothing to be asked.
  bool read(std::string_view json);

  bool has(std::string_view name) const;
  // Nothing: absent, or not a string.
  std::optional<std::string> text(std::string_view name) const;
  // A string or a list of strings. Nothing: something else.
  std::optional<std::vector<std::string>> texts(std::string_view name) const;
  // A NumericDate (RFC 7519 section 2). Nothing: not a number, or of no year that we could mean.
  std::optional<TimestampMs> time(std::string_view name) const;
  // A string that is not empty or a whole number, at a name or a JSON pointer.
  std::optional<ClaimValue> value(std::string_view place) const;

 private:
  simdjson::dom::parser parser_;
  simdjson::dom::object root_;
};

}  // namespace oncekey::identity
