#include "workflow/transactor.h"

#include <algorithm>
#include <thread>

namespace oncekey::workflow {
namespace {

// A database that is busy is asked again after 1 ms, 2 ms, …
constexpr std::chrono::milliseconds first_pause{1};
constexpr std::chrono::milliseconds pause_max{100};

}  // namespace

Committed Transactor::run(const std::function<Ending()>& work) {
  std::chrono::milliseconds wait = first_pause;
  for (int attempt = 1;; ++attempt) {
    bool committing = false;
    try {
      database_.begin();
      if (work() == Ending::roll_back) {
        database_.rollback();
        return Committed::no;
      }
      committing = true;
      database_.commit();
      return Committed::yes;
    } catch (const DatabaseError& error) {
      database_.rollback();
      const bool lost = error.kind() == DatabaseError::Kind::lost;
      const bool again = error.kind() == DatabaseError::Kind::again;
      if (lost && options_.reconnect) options_.reconnect();
      if (lost && committing) return Committed::doubt;
      // A connection that was lost before the commit took the transaction with it.
      if (!again && !(lost && options_.reconnect)) throw;
      if (attempt >= options_.transaction_attempts_max) throw;
    } catch (...) {
      database_.rollback();
      throw;
    }
    pause(wait);
    wait = std::min(wait * 2, pause_max);
  }
}

void Transactor::pause(std::chrono::milliseconds most) {
  std::uniform_int_distribution<std::int64_t> some(most.count() / 2, most.count());
  const std::chrono::milliseconds length(some(random_));
  if (options_.pause) {
    options_.pause(length);
  } else {
    std::this_thread::sleep_for(length);
  }
}

}  // namespace oncekey::workflow
