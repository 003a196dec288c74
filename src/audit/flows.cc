#include "audit/flows.h"

#include <algorithm>

#include "audit/audit.h"

namespace oncekey::audit {
namespace {

bool is_safe(const OperationResult& result) {
  return result.needs_key && !result.excepted && result.finding.verdict != Verdict::fail;
}

// POST /payments, then anything at /payments/{id} or below.
bool creates_for(const Operation& first, const Operation& next) {
  std::string collection = first.path;
  while (collection.ends_with('/')) collection.pop_back();
  return first.method == "POST" && !collection.empty() && next.path.starts_with(collection + "/{");
}

const Link* link_to(const Operation& first, const Operation& next) {
  for (const Link& link : first.links) {
    const bool by_id = !link.operation_id.empty() && link.operation_id == next.id;
    if (by_id || (link.method == next.method && link.path == next.path)) return &link;
  }
  return nullptr;
}

}  // namespace

std::vector<Flow> flows_with_gap(const std::vector<OperationResult>& results) {
  std::vector<Flow> flows;
  for (const OperationResult& first : results) {
    if (!is_safe(first)) continue;
    for (const OperationResult& next : results) {
      if (next.finding.verdict != Verdict::fail || &first == &next) continue;
      const Link* link = link_to(first.operation, next.operation);
      const bool creates = creates_for(first.operation, next.operation);
      if (link == nullptr && !creates) continue;
      flows.push_back(
          {first.operation.name(), next.operation.name(), link != nullptr ? link->name : "path"});
    }
  }
  return flows;
}

}  // namespace oncekey::audit
