// Transactions that are done again while the database says so, and commits whose outcome is not
// known.
#pragma once

#include <chrono>
#include <functional>
#include <random>

#include "oncekey/transaction.h"
#include "oncekey/workflow.h"

namespace oncekey::workflow {

enum class Ending { commit, roll_back };
enum class Committed {
  yes,
  no,     // rolled back, as the work asked
  doubt,  // the connection was lost in the commit
};

class Transactor {
 public:
  Transactor(Database& database, const RunnerOptions& options, std::minstd_rand& random)
      : database_(database), options_(options), random_(random) {}

  // `work` may be done several times, each in a transaction of its own.
  Committed run(const std::function<Ending()>& work);

  // As long as `most`, or down to half of it: callers that collided should not do so again.
  void pause(std::chrono::milliseconds most);

 private:
  Database& database_;
  const RunnerOptions& options_;
  std::minstd_rand& random_;
};

}  // namespace oncekey::workflow
