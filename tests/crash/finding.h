// What a campaign holds against the gateways or their store.
#pragma once

#include <string>

namespace oncekey::test {

struct Finding {
  enum class Kind {
    loss,   // something acknowledged is gone or was done again: a store that forgets explains it
    fault,  // nothing explains it
  };

  Kind kind = Kind::fault;
  std::string key;  // "": it is about no key in particular
  std::string what;
};

}  // namespace oncekey::test
