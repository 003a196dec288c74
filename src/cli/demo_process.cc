#include "cli/demo_process.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace oncekey::cli {
namespace {

constexpr std::chrono::seconds start_limit{20};
constexpr std::chrono::seconds stop_limit{5};
constexpr std::chrono::milliseconds look_every{10};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// Between fork and exec only what is safe in a program with threads.
[[noreturn]] void become(char* const* words, char* const* environment, int log, pid_t parent) {
  ::setpgid(0, 0);  // Ctrl-C is the demo's
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::dup2(log, STDOUT_FILENO);
  ::dup2(log, STDERR_FILENO);
  if (::getppid() == parent) ::execve(words[0], words, environment);
  ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  for (const std::string& text : texts) all.push_back(const_cast<char*>(text.c_str()));
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::string program_beside(const std::string& name) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string path = (self.parent_path() / name).string();
  return !error && ::access(path.c_str(), X_OK) == 0 ? path : "";
}

DemoProcess::DemoProcess(const Start& start) : log_(start.log) {
  std::error_code absent;
  const auto size = std::filesystem::file_size(log_, absent);
  if (!absent) log_begin_ = size;
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!std::string_view(*variable).starts_with("ONCEKEY_")) variables.emplace_back(*variable);
  }
  if (!start.crash_at.empty()) variables.push_back("ONCEKEY_CRASH_AT=" + start.crash_at);
  const auto words = pointers(start.words);
  const auto environment = pointers(variables);
  const int log = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (log < 0) throw std::runtime_error("cannot write " + log_);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(words.data(), environment.data(), log, parent);
  ::close(log);
  if (pid_ < 0) throw std::runtime_error("cannot start " + start.words[0]);
}

DemoProcess::~DemoProcess() {
  stop();
}

bool DemoProcess::ended() {
  if (pid_ < 0) return true;
  if (::waitpid(pid_, nullptr, WNOHANG) == 0) return false;
  pid_ = -1;
  return true;
}

std::string DemoProcess::await_value(const std::string& mark) {
  const auto limit = std::chrono::steady_clock::now() + start_limit;
  while (std::chrono::steady_clock::now() < limit) {
    const bool last_look = ended();
    const std::string text = output().substr(log_begin_);
    if (const auto at = text.find(mark); at != std::string::npos) {
      const auto end = text.find_first_of(",}", at + mark.size());
      if (end != std::string::npos) return text.substr(at + mark.size(), end - at - mark.size());
    }
    if (last_look) return "";
    std::this_thread::sleep_for(look_every);
  }
  return "";
}

std::string DemoProcess::output() const {
  return text_of(log_);
}

bool DemoProcess::await_end(std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!ended()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(look_every);
  }
  return true;
}

void DemoProcess::stop() {
  if (ended()) return;
  ::kill(pid_, SIGTERM);
  if (await_end(stop_limit)) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

}  // namespace oncekey::cli
