#include "cli/progress.h"

#include <unistd.h>

#include <ostream>

namespace oncekey::cli {
namespace {

// Work that is done before this needs no progress.
constexpr std::chrono::milliseconds quiet_at_first(500);
constexpr std::chrono::milliseconds between_lines(10'000);
constexpr std::chrono::milliseconds between_updates(100);

}  // namespace

Progress::Progress(std::ostream& err)
    : err_(err),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(std::chrono::steady_clock::now() + (terminal_ ? quiet_at_first : between_lines)) {}

void Progress::say(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + (terminal_ ? between_updates : between_lines);
  if (terminal_) {
    err_ << "\r\033[K" << text << std::flush;
    shown_ = true;
  } else {
    err_ << text << std::endl;
  }
}

void Progress::clear() {
  if (shown_) err_ << "\r\033[K" << std::flush;
  shown_ = false;
}

}  // namespace oncekey::cli
