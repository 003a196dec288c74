#include "support/server_keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "support/postgres_server.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

namespace fs = std::filesystem;

constexpr Milliseconds start_patience{60'000};

int stop_pipe[2];  // a signal handler reaches nothing else

void ask_to_stop(int) {
  [[maybe_unused]] ssize_t written = ::write(stop_pipe[1], "x", 1);
}

flock whole_file() {
  flock lock{};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// 0 when none runs.
pid_t keeper_of(const fs::path& directory) {
  Socket file(::open((directory / "lock").c_str(), O_RDWR | O_CLOEXEC));
  if (!file) return 0;
  flock lock = whole_file();
  if (::fcntl(file.descriptor(), F_GETLK, &lock) != 0 || lock.l_type == F_UNLCK) return 0;
  return lock.l_pid;
}

std::string content_of(const fs::path& file) {
  std::ifstream stream(file);
  std::ostringstream all;
  all << stream.rdbuf();
  return all.str();
}

// Whoever finds the file finds all of it.
void publish(const fs::path& file, const std::string& content) {
  fs::path unfinished = file.string() + ".unfinished";
  std::ofstream(unfinished) << content << "\n";
  fs::rename(unfinished, file);
}

void keep(const fs::path& directory, int caller) {
  int file = ::open((directory / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  flock lock = whole_file();
  if (::fcntl(file, F_SETLK, &lock) != 0) {
    throw std::runtime_error("another keeper has just started in " + directory.string());
  }
  if (::pipe2(stop_pipe, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  struct sigaction action {};
  action.sa_handler = ask_to_stop;
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) ::sigaction(signal, &action, nullptr);

  PostgresServer postgres;
  RedisServer redis(shared_redis_options());
  publish(directory / "redis.url", redis.url());
  publish(directory / "postgres.url", postgres.admin_url("postgres"));  // the last: all is ready
  std::array<pollfd, 2> ends{{{stop_pipe[0], POLLIN, 0}, {caller, POLLIN, 0}}};
  while (::poll(ends.data(), ends.size(), -1) < 0) {
  }
  for (const char* name : {"postgres.url", "redis.url"}) fs::remove(directory / name);
}

// Nothing of the caller may stay open: ctest waits for the end of its tests' output.
void detach(const fs::path& directory, int caller) {
  ::setsid();
  int none = ::open("/dev/null", O_RDONLY);
  int log = ::open((directory / "log").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  ::dup2(none, 0);
  ::dup2(log, 1);
  ::dup2(log, 2);
  for (int descriptor = 3; descriptor < 1024; ++descriptor) {
    if (descriptor != caller) ::close(descriptor);
  }
}

[[noreturn]] void run_keeper(const fs::path& directory, int caller) {
  detach(directory, caller);
  try {
    keep(directory, caller);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    ::_exit(1);
  }
  ::_exit(0);
}

}  // namespace

RedisServer::Options shared_redis_options() {
  return {.databases = shared_redis_databases};
}

void start_keeper(const fs::path& directory) {
  stop_keeper(directory);
  fs::create_directories(directory);
  int caller = static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0));
  pid_t keeper = ::fork();
  if (keeper < 0) throw std::runtime_error("cannot fork");
  if (keeper == 0) run_keeper(directory, caller);
  ::close(caller);
  auto is_settled = [&] {
    return kept_servers(directory).has_value() || ::waitpid(keeper, nullptr, WNOHANG) == keeper;
  };
  if (eventually(is_settled, start_patience) && kept_servers(directory)) return;
  ::kill(keeper, SIGTERM);
  throw std::runtime_error("the servers do not start: " + content_of(directory / "log"));
}

void stop_keeper(const fs::path& directory) {
  pid_t keeper = keeper_of(directory);
  if (keeper > 0) {
    ::kill(keeper, SIGTERM);
    auto is_gone = [&] { return keeper_of(directory) != keeper; };
    // When the keeper dies by force, its servers follow; see Process.
    if (!eventually(is_gone, start_patience)) ::kill(keeper, SIGKILL);
    if (!eventually(is_gone)) throw std::runtime_error("the servers' keeper does not end");
  }
  for (const char* name : {"postgres.url", "redis.url"}) fs::remove(directory / name);
}

std::optional<KeptServers> kept_servers(const fs::path& directory) {
  if (keeper_of(directory) == 0) return std::nullopt;
  std::string postgres = content_of(directory / "postgres.url");
  std::string redis = content_of(directory / "redis.url");
  if (postgres.empty() || redis.empty()) return std::nullopt;
  postgres.pop_back();
  KeptServers servers;
  servers.postgres_admin_url = postgres;
  servers.redis_port = static_cast<std::uint16_t>(std::stoi(redis.substr(redis.rfind(':') + 1)));
  return servers;
}

}  // namespace oncekey::test
