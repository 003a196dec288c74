// Background work on a store: a bounded piece at a time.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"
#include "oncekey/role.h"
#include "store/committer.h"

namespace oncekey::recovery {

// Leases that ran out: in_progress becomes unknown. The error says why the store is unavailable.
Result<std::vector<RecordId>, std::string> sweep_once(store::Committer& committer,
                                                      std::size_t limit);

// Whether a sweep could change records, without changing any; or why it could not.
Result<std::monostate, std::string> rehearse_sweep(store::Committer& committer);

// How long the store takes to say that it has no record of an id that nobody uses; or why it does
// not say so.
Result<std::chrono::steady_clock::duration, std::string> time_to_answer(
    store::Committer& committer);

// Records past their retention are removed. The error is as above.
Result<std::size_t, std::string> reap_once(store::Committer& committer, std::size_t limit);

using oncekey::Role;

}  // namespace oncekey::recovery
