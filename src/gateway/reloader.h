// Reads the configuration again and puts it in force, or says why not. One reload at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gateway/config_draft.h"
#include "gateway/log.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::gateway {

struct ReloadReport {
  std::vector<std::string> changed;  // as ConfigChanges names it; empty: nothing was different
};
using ReloadOutcome = Result<ReloadReport, std::string>;  // the error: why all stays as it was

// What became of the last reload, and how many there were.
struct ReloadStatus {
  std::uint64_t applied = 0;
  std::uint64_t refused = 0;
  TimestampMs last_at = 0;           // 0: none yet
  std::string refusal;               // of the last one; "": it was applied
  std::vector<std::string> changed;  // by the last one that was applied

  std::uint64_t count() const { return applied + refused; }
};

class Reloader {
 public:
  // The configuration as a start would read it now. The error is for people: file, line, reason.
  using Load = std::function<Result<LoadedConfig, std::string>()>;
  using Apply = std::function<ReloadOutcome(const Config&)>;
  struct Parts {
    Load load;
    Apply apply;
    Log& log;
    std::function<void()> begun = [] {};  // for the supervisor
    std::function<void(const ReloadOutcome&)> ended = [](const ReloadOutcome&) {};
  };

  explicit Reloader(Parts parts) : parts_(std::move(parts)) {}

  // Any thread; waits until it is done. `asked_by` is for the log: "signal", "admin".
  ReloadOutcome reload(std::string_view asked_by);

  ReloadStatus status() const;
  void append_metrics(std::string& out) const;

 private:
  void report(std::string_view asked_by, const ReloadOutcome& outcome);

  const Parts parts_;
  std::mutex reloading_;
  mutable std::mutex mutex_;  // of status_
  ReloadStatus status_;
};

}  // namespace oncekey::gateway
