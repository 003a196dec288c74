// Asks an API each operation without a key. Nothing but an empty body is sent: where the API does
// not insist on the key, the missing body is what it should stumble over.
#pragma once

#include <string>
#include <vector>

#include "audit/api.h"
#include "verify/message.h"
#include "verify/subject.h"

namespace oncekey::audit {

struct Asked {
  enum class Kind {
    refused,   // for the missing key, and said so
    executed,  // 2xx
    unclear,   // something else stood in the way, or was said
  };
  Kind kind = Kind::unclear;
  int status = 0;  // 0: no answer
  std::string what;
};
std::string_view to_string(Asked::Kind kind);

// "/v1/payments/p_1/capture?reason=none": parameters take their examples or made-up values.
std::string target_of(const Operation& operation, const std::string& base_path);

// Which path stands before the operation's, at this URL: the URL's own, if it has one; then the
// first of `base_paths`, then the first of the document's servers.
std::string base_path_for(const Operation& operation, const verify::Place& place,
                          const std::vector<std::string>& base_paths);

// Reads from an answer to a request without a key what it says about keys.
Asked understand(const verify::Answer& answer, const std::vector<std::string>& key_headers);

Asked ask(const Operation& operation, const verify::Subject& subject,
          const std::vector<std::string>& base_paths, const std::vector<std::string>& key_headers);

}  // namespace oncekey::audit
