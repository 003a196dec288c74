// The unknown outcomes that wait to be decided: how many, and the oldest.
#pragma once

#include <cstdint>
#include <optional>

#include "boundary/json_writer.h"
#include "store/committer.h"

namespace oncekey::admin {

// The members count, oldest and all_examined, of an object that is open. `count`: as far as the
// store has counted; counted here when it has not, and absent when that fails, too. Looks at 2,000
// records at most: a page that is asked for every few seconds.
void write_unknown_outcomes(JsonWriter& json, store::Committer& committer,
                            std::optional<std::uint64_t> count);

}  // namespace oncekey::admin
