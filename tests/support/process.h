// A child process whose output lines can be waited for. It is killed with this object, and by the
// kernel when the thread that started it dies.
#pragma once

#include <sys/types.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/socket.h"

namespace oncekey::test {

class Process {
 public:
  // The first word is the program's path.
  explicit Process(const std::vector<std::string>& words);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  void signal(int number) const;

  // The exit code, 128 + N for an end by signal N; nothing when it still runs after `timeout`.
  std::optional<int> wait(Milliseconds timeout = patience);

  std::vector<std::string> lines() const;  // of both streams, in the order they were read
  std::optional<std::string> wait_for_line(const std::function<bool(const std::string&)>& wanted,
                                           Milliseconds timeout = patience) const;
  std::string output() const;  // all lines, for a failure's message

 private:
  void gather(int descriptor);

  pid_t pid_ = -1;
  std::optional<int> exit_code_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<std::string> lines_;
  int streams_open_ = 2;
  std::thread standard_output_;
  std::thread standard_error_;
};

// Resident memory of a process in bytes; 0 when it is gone.
std::size_t resident_bytes(pid_t pid);

}  // namespace oncekey::test
