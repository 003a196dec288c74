// Follows $ref within a document.
#pragma once

#include <string>
#include <string_view>

#include "audit/value.h"

namespace oncekey::audit {

inline constexpr int references_max = 32;  // one after another

// What a JSON pointer in a URL's fragment ("#/components/parameters/Key") names; null: nothing.
const Value* at_fragment(const Value& root, std::string_view fragment);

// One step of such a pointer as plain text: "~1payments" is "/payments".
std::string pointer_token(std::string_view escaped);

class References {
 public:
  // Both must outlive it.
  References(const Value& root, Problems& problems) : root_(root), problems_(problems) {}

  // The value itself, or what its $ref leads to at last. Null: to nothing, which is now among the
  // problems.
  const Value* follow(const Value& value) const;

 private:
  const Value& root_;
  Problems& problems_;
};

}  // namespace oncekey::audit
