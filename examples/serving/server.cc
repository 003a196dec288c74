#include "server.h"

#include <httplib.h>
#include <sys/socket.h>

#include <csignal>
#include <cstdio>
#include <thread>

#include "flags.h"

namespace serving {
namespace {

// cpp-httplib gives a connection a thread for as long as it lives, idle or not.
constexpr std::size_t connections_max = 256;
constexpr std::size_t requests_per_connection_max = 1'000'000;
constexpr time_t idle_connection_s = 60;

sigset_t ending_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

// Returns the port that was given or found.
int bind(httplib::Server& server, const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const std::string port = colon == std::string::npos ? "" : address.substr(colon + 1);
  if (port.empty() || port.size() > 5 ||
      port.find_first_not_of("0123456789") != std::string::npos) {
    throw UsageError("--listen takes HOST:PORT, not '" + address + "'");
  }
  const std::string host = address.substr(0, colon);
  const int wanted = std::stoi(port);
  const int bound = wanted == 0                         ? server.bind_to_any_port(host)
                    : server.bind_to_port(host, wanted) ? wanted
                                                        : -1;
  if (bound < 0) throw std::runtime_error("cannot listen on " + address);
  return bound;
}

}  // namespace

void block_ending_signals() {
  std::signal(SIGPIPE, SIG_IGN);
  const sigset_t signals = ending_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

void configure(httplib::Server& server) {
  server.new_task_queue = [] { return new httplib::ThreadPool(connections_max); };
  server.set_keep_alive_max_count(requests_per_connection_max);
  server.set_keep_alive_timeout(idle_connection_s);
  server.set_tcp_nodelay(true);
  // Its default, SO_REUSEPORT, would let two services share a port without a word.
  server.set_socket_options([](int socket) {
    const int on = 1;
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  });
}

void serve(httplib::Server& server, const std::string& address, const std::function<void()>& stop) {
  const int port = bind(server, address);
  std::thread ending([&] {
    const sigset_t signals = ending_signals();
    int number = 0;
    sigwait(&signals, &number);
    stop();
    server.stop();
  });
  std::printf("{\"event\":\"listening\",\"port\":%d}\n", port);
  std::fflush(stdout);
  server.listen_after_bind();
  ending.join();
}

int run(const char* name, const char* usage, const std::function<void()>& program) {
  try {
    program();
    return 0;
  } catch (const UsageError& error) {
    std::fprintf(stderr, "%s: %s\n%s", name, error.what(), usage);
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace serving
