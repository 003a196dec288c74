// Named steps at which a test can have this process killed, as a power cut or an OOM killer would:
//
//   ONCEKEY_CRASH_AT=worker-delivered      dies (SIGKILL) when it first gets there
//   ONCEKEY_CRASH_AT=worker-delivered:3    dies the third time
//   ONCEKEY_CRASH_AT=list                  prints the steps, one on a line, and ends
//
// Every step is in the list below, so that a test can go through all of them. They are compiled in
// always; unset, each costs one relaxed load. A name that is not in the list ends the process with
// code 2, before anything is done.
#pragma once

#include <atomic>
#include <span>
#include <string_view>

namespace oncekey {

enum class CrashPoint : int {
  // oncekey worker
  worker_claimed,          // messages are claimed, none is on its way
  worker_before_delivery,  // one message is about to be sent
  worker_delivered,        // its receiver has said yes, nothing is recorded
  worker_refused,          // its receiver has said no, or nothing; nothing is recorded
  worker_recorded,         // outcomes are durable
  worker_extended,         // claims were extended

  // workflow.h; STEP:N is that of the Nth phase
  workflow_reserved,       // the key is reserved, or taken over; nothing is committed
  workflow_taken,          // that is committed, and the first phase's call comes next
  workflow_before_call,    // the phase's call is about to be made
  workflow_called,         // it was answered
  workflow_in_body,        // the body has written its rows
  workflow_before_commit,  // and the recovery point is written beside them
  workflow_committed,      // the phase is durable
  workflow_before_answer,  // all is done, and nobody was told
};

struct CrashPointName {
  CrashPoint point;
  std::string_view name;
};

// All of them, in the order of the enumeration.
std::span<const CrashPointName> crash_points();

namespace crash_point_detail {
extern std::atomic<int> armed;  // the number of the armed step, or -1
void arrived();
}  // namespace crash_point_detail

inline void crash_point(CrashPoint point) {
  if (crash_point_detail::armed.load(std::memory_order_relaxed) == static_cast<int>(point))
      [[unlikely]] {
    crash_point_detail::arrived();
  }
}

}  // namespace oncekey
