// Server-sent events, as they come in pieces of any size.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace oncekey::cli {

struct ServerEvent {
  std::string name;  // "": "message"
  std::string data;
};

class EventStream {
 public:
  explicit EventStream(std::function<void(const ServerEvent&)> on_event)
      : on_event_(std::move(on_event)) {}

  void take(std::string_view piece);

 private:
  void take_line(std::string_view line);

  const std::function<void(const ServerEvent&)> on_event_;
  std::string unread_;  // less than a line
  ServerEvent event_;
  bool any_ = false;
};

}  // namespace oncekey::cli
