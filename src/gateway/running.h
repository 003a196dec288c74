// Counts what a shutdown has to wait for.
#pragma once

#include <atomic>
#include <cstdint>

namespace oncekey::gateway {

class Running {
 public:
  explicit Running(std::atomic<std::uint64_t>& count) : count_(count) { count_.fetch_add(1); }
  Running(const Running&) = delete;
  ~Running() { count_.fetch_sub(1); }

 private:
  std::atomic<std::uint64_t>& count_;
};

}  // namespace oncekey::gateway
