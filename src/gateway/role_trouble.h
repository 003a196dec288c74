// Background work that fails is tried again twice a second: it must neither fail in silence nor
// fill the log. Told once when it keeps failing, and once when it works again. Used by one thread.
#pragma once

#include <string>
#include <string_view>

#include "gateway/log.h"

namespace oncekey::gateway {

inline constexpr const char* role_failures_help =
    "Runs of the background roles that the store did not let finish";

class RoleTrouble {
 public:
  RoleTrouble(Log& log, std::string_view role) : log_(log), role_(role) {}

  void failed(std::string_view reason) {
    if (++failures_ != failures_told_at) return;
    log_.event(LogLevel::error, "role_failed", {{"role", role_}, {"reason", reason}});
  }
  void worked() {
    if (failures_ >= failures_told_at) {
      log_.event(LogLevel::info, "role_works_again", {{"role", role_}});
    }
    failures_ = 0;
  }

 private:
  // In a row: a store that is just going away is told of by itself.
  static constexpr int failures_told_at = 3;

  Log& log_;
  std::string_view role_;
  int failures_ = 0;
};

}  // namespace oncekey::gateway
