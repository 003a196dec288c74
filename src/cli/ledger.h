// `oncekey ledger`: compares a provider's ledger with the records of a store, once.
#pragma once

#include "cli/serve_options.h"

namespace oncekey::cli {

int run_ledger(int argc, const char* const* argv, const Surroundings& surroundings);
int run_ledger(int argc, char** argv);

}  // namespace oncekey::cli
