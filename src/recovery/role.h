// Background work on a store: a bounded piece at a time.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/role.h"
#include "store/committer.h"

namespace oncekey::recovery {

// Leases that ran out: in_progress becomes unknown. Empty: the store is unavailable.
std::optional<std::vector<RecordId>> sweep_once(store::Committer& committer, std::size_t limit);

// Records past their retention are removed. Empty: the store is unavailable.
std::optional<std::size_t> reap_once(store::Committer& committer, std::size_t limit);

using oncekey::Role;

}  // namespace oncekey::recovery
