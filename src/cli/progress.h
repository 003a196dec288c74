// Says on standard error how far long work has come: on a terminal one line that is written over,
// elsewhere a line every ten seconds.
#pragma once

#include <chrono>
#include <iosfwd>
#include <string>

namespace oncekey::cli {

class Progress {
 public:
  explicit Progress(std::ostream& err);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(const std::string& text);
  void clear();  // before something else is printed

 private:
  std::ostream& err_;
  const bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

}  // namespace oncekey::cli
