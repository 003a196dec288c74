// The configured comparison with a provider's ledger: [ledger] of the configuration.
#pragma once

#include <functional>
#include <string>

#include "gateway/config.h"
#include "recovery/ledger_check.h"

namespace oncekey::gateway {

// One comparison over the window. `report` is told of each difference.
recovery::LedgerCounts check_ledger(const Config& config, store::Committer& committer,
                                    recovery::Prober& prober,
                                    const std::function<void(const recovery::Difference&)>& report);

// {"difference":"charge_without_record","charge":…}; without a newline.
std::string to_json(const recovery::Difference& difference);
std::string to_json(const recovery::LedgerCounts& counts);

}  // namespace oncekey::gateway
