#include "cli/event_stream.h"

namespace oncekey::cli {

void EventStream::take(std::string_view piece) {
  unread_ += piece;
  std::size_t start = 0;
  for (std::size_t end = unread_.find('\n'); end != std::string::npos;
       end = unread_.find('\n', start)) {
    std::string_view line = std::string_view(unread_).substr(start, end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    take_line(line);
    start = end + 1;
  }
  unread_.erase(0, start);
}

void EventStream::take_line(std::string_view line) {
  if (line.empty()) {
    if (any_) on_event_(event_);
    event_ = {};
    any_ = false;
    return;
  }
  if (line.starts_with(':')) return;  // a comment: still here
  const std::size_t colon = line.find(':');
  const std::string_view name = line.substr(0, colon);
  std::string_view value = colon == line.npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "event") event_.name = value;
  if (name != "data") return;
  if (any_) event_.data += '\n';
  event_.data += value;
  any_ = true;
}

}  // namespace oncekey::cli
