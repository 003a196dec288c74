#include "support/process_tree.h"

#include <signal.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>

#include "support/waiting.h"

namespace oncekey::test {
namespace {

struct Status {
  char state = 0;
  pid_t parent = 0;
};

std::optional<Status> status_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  std::size_t name_end = line.rfind(')');  // the name may hold spaces and brackets
  if (name_end == std::string::npos) return std::nullopt;
  Status status;
  std::istringstream(line.substr(name_end + 1)) >> status.state >> status.parent;
  return status;
}

bool is_number(const std::string& text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

void stop(pid_t pid) {
  ::kill(pid, SIGSTOP);
  bool stopped = eventually([&] {
    std::optional<Status> status = status_of(std::to_string(pid));
    return !status || status->state == 'T' || status->state == 'Z';
  });
  if (!stopped) throw std::runtime_error("process " + std::to_string(pid) + " does not stop");
}

}  // namespace

std::vector<pid_t> children_of(pid_t parent) {
  std::vector<pid_t> children;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::string name = entry.path().filename();
    if (!is_number(name)) continue;
    std::optional<Status> status = status_of(name);
    if (status && status->parent == parent) children.push_back(std::stoi(name));
  }
  return children;
}

bool runs(pid_t pid) {
  std::optional<Status> status = status_of(std::to_string(pid));
  return status && status->state != 'Z' && status->state != 'X';
}

bool is_stopped(pid_t pid) {
  std::optional<Status> status = status_of(std::to_string(pid));
  return status && status->state == 'T';
}

std::vector<pid_t> stop_tree(pid_t parent) {
  stop(parent);
  std::vector<pid_t> children = children_of(parent);
  for (pid_t child : children) stop(child);
  return children;
}

void kill_tree(pid_t parent) {
  std::vector<pid_t> children = stop_tree(parent);
  ::kill(parent, SIGKILL);
  for (pid_t child : children) ::kill(child, SIGKILL);
  bool gone = eventually([&] { return std::none_of(children.begin(), children.end(), runs); });
  if (!gone) throw std::runtime_error("a child of process " + std::to_string(parent) + " survived");
}

}  // namespace oncekey::test
