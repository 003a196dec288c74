// Steps that follow one another, where one is safe to repeat and the next is not.
#pragma once

#include <string>
#include <vector>

namespace oncekey::audit {

struct OperationResult;

struct Flow {
  std::string from;  // "POST /payments"
  std::string to;    // "POST /payments/{id}/capture"
  std::string by;    // how one leads to the other: "path", or a link's name
};

// From a protected operation to one with a gap: by a link of the document, or because the second
// goes on with what the first creates.
std::vector<Flow> flows_with_gap(const std::vector<OperationResult>& results);

}  // namespace oncekey::audit
