// Who changed what, and why: a file to which only lines are added, each a JSON object.
//
// A change leaves two lines. The first, the intent, is on disk before anything is changed: a crash
// in between cannot hide it. The second repeats it with what came of it, and is on disk before the
// change is acknowledged.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::admin {

struct AuditEntry {
  std::string who;   // the token's name
  std::string from;  // the peer's address
  std::string action;
  std::string target;  // JSON
  std::string reason;
  std::string before;  // JSON
  std::string after;   // JSON; of an intent what is wanted, of a result what became of it
  std::string result;  // "done", or why not
};

class AuditLog {
 public:
  static constexpr std::size_t read_bytes_max = 4 << 20;  // how far back last() looks

  AuditLog(std::string path, std::function<TimestampMs()> clock)
      : path_(std::move(path)), clock_(std::move(clock)) {}

  // The error says why nothing, or perhaps nothing, was written. Any thread.
  struct Begun {
    std::string id;     // ties the two lines together
    std::string error;  // "": it is on disk
  };
  Begun begin(const AuditEntry& entry);
  std::optional<std::string> finish(const std::string& id, const AuditEntry& entry);

  // The last changes, the newest first, each as one JSON object. An intent without a result has
  // "result": "unknown".
  std::vector<std::string> last(std::size_t count) const;

  const std::string& path() const { return path_; }

 private:
  std::optional<std::string> append(const std::string& id, std::string_view phase,
                                    const AuditEntry& entry);

  const std::string path_;
  const std::function<TimestampMs()> clock_;
  std::mutex mutex_;
};

// Where the audit file is when nothing was said: beside an embedded store.
std::string default_audit_file(std::string_view store);

}  // namespace oncekey::admin
