// When leases may be swept after an outage of the store. Whoever had begun something has its result
// by then, and tries a few times a second to record it: sweeping at once would make all of that
// unknown. One thread; the time is passed in.
#pragma once

#include <algorithm>
#include <chrono>

namespace oncekey::recovery {

class ResultsFirst {
 public:
  using Time = std::chrono::steady_clock::time_point;
  // The longest pause of a breaker, and some tries.
  static constexpr std::chrono::seconds quiet{2};
  // A result that can never be recorded must not keep leases from being swept for good.
  static constexpr std::chrono::seconds refused_max{30};

  // The store may have been read all the time, and have taken no changes: when it takes them again
  // is found out by changing what matters to nobody, and only then begins the pause.
  void sweep_failed(Time now) {
    outage(now);
    must_rehearse_ = true;
  }
  bool must_rehearse() const { return must_rehearse_; }
  void rehearsed(Time now) {
    outage(now);
    must_rehearse_ = false;
  }

  // The store was out of reach until now, or nobody knows whether it was.
  void outage(Time now) { begun_ = last_ = now; }
  // A result could not be recorded. Refusals without a pause between them are waited for together,
  // so that one that is tried for ever is given up.
  void refused(Time now) {
    if (last_ + quiet <= now) begun_ = now;
    last_ = now;
  }
  bool waiting(Time now) const {
    return must_rehearse_ || now < std::min(last_ + quiet, begun_ + refused_max);
  }

 private:
  Time begun_ = Time::min();
  Time last_ = Time::min();
  bool must_rehearse_ = false;
};

}  // namespace oncekey::recovery
