// Records in memory: for tests, trials and routes whose loss at a restart is acceptable.
#pragma once

#include <atomic>
#include <map>
#include <optional>

#include "boundary/execution.h"
#include "oncekey/store.h"
#include "store/open_work.h"

namespace oncekey::store {

class MemoryEngine : public Engine, private Records {
 public:
  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  EngineInfo info() const override;
  EngineStats stats() const override;

 private:
  Result<const Record*, std::string> find(const RecordId& id, TimestampMs now) override;
  void store(Record record) override;
  void remove(const Record& record) override;
  Fence next_fence() override { return ++last_fence_; }
  std::vector<RecordId> leases_over(TimestampMs now, std::size_t limit) override;
  Result<std::vector<Record>, std::string> list(const List& request, TimestampMs now) override;
  std::size_t reap(TimestampMs now, std::size_t limit) override;

  Fence last_fence_ = 0;
  OpenWork open_;
  std::map<RecordId, Record> settled_;  // completed and expired
  std::optional<RecordId> reap_cursor_;

  std::atomic<std::uint64_t> in_progress_{0};
  std::atomic<std::uint64_t> failed_retryable_{0};
  std::atomic<std::uint64_t> unknown_{0};
  std::atomic<std::uint64_t> settled_count_{0};
};

}  // namespace oncekey::store
