// A program that the demo starts beside itself, and kills, and starts again. It ends with this
// object, and with the demo.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace oncekey::cli {

// A program of that name beside this one; "": there is none.
std::string program_beside(const std::string& name);

class DemoProcess {
 public:
  struct Start {
    std::vector<std::string> words;  // the first is the program's path
    std::string log;                 // file for what it prints
    std::string crash_at = {};       // ONCEKEY_CRASH_AT; "": it lives
  };
  // Throws std::runtime_error when it cannot be started.
  explicit DemoProcess(const Start& start);
  ~DemoProcess();
  DemoProcess(const DemoProcess&) = delete;
  DemoProcess& operator=(const DemoProcess&) = delete;

  // What stands behind `mark` in its output, up to the next , or }, once it is there; "": it ended,
  // or took too long.
  std::string await_value(const std::string& mark);
  std::string output() const;                       // of all runs with this log
  bool await_end(std::chrono::milliseconds limit);  // false: it still runs
  void stop();                                      // SIGTERM, and SIGKILL when that does not help

 private:
  bool ended();

  pid_t pid_ = -1;
  std::string log_;
  std::size_t log_begin_ = 0;  // what earlier runs wrote
};

}  // namespace oncekey::cli
