// Background work: a bounded piece at a time, and a loop around it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "oncekey/record.h"
#include "store/committer.h"

namespace oncekey::recovery {

// Leases that ran out: in_progress becomes unknown. Empty: the store is unavailable.
std::optional<std::vector<RecordId>> sweep_once(store::Committer& committer, std::size_t limit);

// Records past their retention are removed. Empty: the store is unavailable.
std::optional<std::size_t> reap_once(store::Committer& committer, std::size_t limit);

// Calls `run_once` every so often on a thread of its own until it is destroyed. When a run returns
// true there is more to do, and the next follows at once, or after a rest of that many times what
// the run took: work that can wait leaves the store to the requests for that long.
class Role {
 public:
  Role(std::chrono::milliseconds every, std::function<bool()> run_once, int rest = 0);
  ~Role();

 private:
  void run();

  std::chrono::milliseconds every_;
  std::function<bool()> run_once_;
  int rest_;
  std::mutex mutex_;
  std::condition_variable stop_signal_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace oncekey::recovery
