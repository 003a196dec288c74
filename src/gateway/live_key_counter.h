// Counts the live keys of the scopes that LiveKeys asks about, from the store, in a thread of its
// own: a page of records at a time, up to the cap.
#pragma once

#include <atomic>
#include <functional>
#include <thread>

#include "gateway/live_keys.h"
#include "store/committer.h"

namespace oncekey::gateway {

class LiveKeyCounter {
 public:
  // All must outlive it.
  LiveKeyCounter(LiveKeys& keys, store::Committer& committer, std::function<TimestampMs()> clock);
  ~LiveKeyCounter();  // ends after the page that is being read

 private:
  void run();
  bool count(const LiveKeys::Wanted& wanted);

  LiveKeys& keys_;
  store::Committer& committer_;
  std::function<TimestampMs()> clock_;
  std::atomic<bool> stopping_{false};
  std::thread thread_;
};

}  // namespace oncekey::gateway
