// What a gateway's configuration does with the operations of an API.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "audit/api.h"
#include "gateway/route_table.h"

namespace oncekey::audit {

struct Protection {
  enum class Kind { none, off, optional, required };

  Kind kind = Kind::none;  // none: no route matches
  std::string match;       // of the route: "POST /payments/*"
  std::size_t number = 0;  // its place in the configuration, from 1
  std::string key_header;
  bool key_in_body = false;  // a key may also stand there
  bool fail_open = false;
  std::string target;  // the operation's least protected path; * for any value
};
std::string_view to_string(Protection::Kind kind);

// Looks at many paths that the operation's template stands for: a route for some of them may be
// weaker than the one for the rest. Of these the weakest counts. `base_paths`: instead of the
// document's own servers; empty: those.
class Coverage {
 public:
  // Both must outlive it.
  Coverage(const gateway::RouteTable& routes, const Api& api) : routes_(routes), api_(api) {}

  Protection of(const Operation& operation, const std::vector<std::string>& base_paths) const;

 private:
  std::vector<std::string> samples_of(const Operation& operation) const;
  bool belongs_elsewhere(const std::string& path, const Operation& operation) const;

  const gateway::RouteTable& routes_;
  const Api& api_;
};

}  // namespace oncekey::audit
