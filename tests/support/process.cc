#include "support/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <stdexcept>

namespace oncekey::test {
namespace {

constexpr Milliseconds last_words{1'000};

struct Pipe {
  std::array<int, 2> ends{};

  Pipe() {
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
};

[[noreturn]] void become(char* const* words, int out, int err, pid_t parent) {
  // Only calls that are safe between fork and exec of a program with threads.
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() == parent) ::execv(words[0], words);
  ::_exit(127);
}

}  // namespace

Process::Process(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  Pipe out;
  Pipe err;
  pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  if (pid_ == 0) become(arguments.data(), out.ends[1], err.ends[1], parent);
  ::close(out.ends[1]);
  ::close(err.ends[1]);
  standard_output_ = std::thread([this, end = out.ends[0]] { gather(end); });
  standard_error_ = std::thread([this, end = err.ends[0]] { gather(end); });
}

Process::~Process() {
  if (!exit_code_) {
    signal(SIGKILL);
    wait();
  }
  standard_output_.join();
  standard_error_.join();
}

void Process::signal(int number) const {
  if (!exit_code_) ::kill(pid_, number);
}

std::optional<int> Process::wait(Milliseconds timeout) {
  if (exit_code_) return exit_code_;
  Socket handle(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  pollfd ended{handle.descriptor(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(timeout.count())) <= 0) return std::nullopt;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  exit_code_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  // What it wrote last may still be on its way; a child of its own may keep the streams open.
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, last_words, [this] { return streams_open_ == 0; });
  return exit_code_;
}

void Process::gather(int descriptor) {
  std::array<char, 16 * 1024> buffer;
  std::string unfinished;
  ssize_t got = 0;
  while ((got = ::read(descriptor, buffer.data(), buffer.size())) > 0) {
    unfinished.append(buffer.data(), static_cast<std::size_t>(got));
    std::lock_guard lock(mutex_);
    std::size_t start = 0;
    for (std::size_t end; (end = unfinished.find('\n', start)) != std::string::npos;
         start = end + 1) {
      lines_.push_back(unfinished.substr(start, end - start));
    }
    unfinished.erase(0, start);
    changed_.notify_all();
  }
  ::close(descriptor);
  std::lock_guard lock(mutex_);
  if (!unfinished.empty()) lines_.push_back(unfinished);
  --streams_open_;
  changed_.notify_all();
}

std::vector<std::string> Process::lines() const {
  std::lock_guard lock(mutex_);
  return lines_;
}

std::optional<std::string> Process::wait_for_line(
    const std::function<bool(const std::string&)>& wanted, Milliseconds timeout) const {
  Deadline deadline = deadline_in(timeout);
  std::unique_lock lock(mutex_);
  std::size_t seen = 0;
  while (true) {
    for (; seen < lines_.size(); ++seen) {
      if (wanted(lines_[seen])) return lines_[seen];
    }
    bool more = changed_.wait_until(lock, deadline,
                                    [&] { return seen < lines_.size() || streams_open_ == 0; });
    if (!more || seen == lines_.size()) return std::nullopt;
  }
}

std::string Process::output() const {
  std::string all;
  for (const std::string& line : lines()) all += line + "\n";
  return all;
}

std::size_t resident_bytes(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  file >> total >> resident;
  return resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace oncekey::test
