// Wakes the duplicates that wait for a first request to finish (on_inflight = "wait"). Only this
// node's; what another node settles is found by asking the store again now and then.
#pragma once

#include <atomic>
#include <coroutine>
#include <map>
#include <mutex>
#include <vector>

#include "http/loop.h"
#include "oncekey/record.h"

namespace oncekey::gateway {

class SettleSignals {
 public:
  // Awaited: resumes on its own loop when the record is settled, or at the deadline.
  class Wait final : private http::Timer {
   public:
    Wait(SettleSignals& signals, http::Loop& loop, const RecordId& id, http::SteadyMs deadline)
        : signals_(signals), loop_(loop), id_(id), deadline_(deadline) {}

    bool await_ready() const { return false; }
    void await_suspend(std::coroutine_handle<> handle);
    void await_resume() const {}

   private:
    friend class SettleSignals;
    void on_deadline() override;
    void resume();

    SettleSignals& signals_;
    http::Loop& loop_;
    const RecordId& id_;
    http::SteadyMs deadline_;
    std::coroutine_handle<> handle_;
    bool notified_ = false;  // guarded by the signals' mutex
  };

  void notify(const RecordId& id);  // any thread

 private:
  std::atomic<std::size_t> waiting_{0};
  std::mutex mutex_;
  std::multimap<RecordId, Wait*> waits_;
};

}  // namespace oncekey::gateway
