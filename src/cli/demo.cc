#include "cli/demo.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "cli/demo_folder.h"
#include "cli/demo_gateway.h"
#include "cli/demo_screen.h"
#include "cli/demo_tour.h"
#include "cli/demo_upstream.h"
#include "cli/exit_code.h"
#include "gateway/secret.h"

namespace oncekey::cli {
namespace {

constexpr int gateway_port = 8080;
constexpr int admin_port = 8081;
constexpr int upstream_port = 3000;

struct DemoOptions {
  bool once = false;
  std::string data;
};

sigset_t ending_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, signal);
  return signals;
}

bool ending_asked_for() {
  sigset_t pending;
  ::sigpending(&pending);
  return ::sigismember(&pending, SIGINT) == 1 || ::sigismember(&pending, SIGTERM) == 1 ||
         ::sigismember(&pending, SIGHUP) == 1;
}

void wait_for_ending() {
  const sigset_t signals = ending_signals();
  int signal = 0;
  ::sigwait(&signals, &signal);
}

// Letters, so that no key made of them looks like a number of somebody's.
std::string run_name() {
  std::uint8_t bytes[8];
  gateway::system_random(bytes);
  std::string name;
  for (std::uint8_t byte : bytes) name.push_back(static_cast<char>('a' + byte % 26));
  return name;
}

bool colours_wanted() {
  const char* refused = std::getenv("NO_COLOR");
  return ::isatty(STDOUT_FILENO) == 1 && (refused == nullptr || *refused == '\0');
}

void print_places(DemoScreen& screen, const DemoGateway& gateway, const DemoUpstream& upstream,
                  const std::string& folder) {
  screen.heading("Oncekey demo: a shop that knows nothing of retries, made safe to retry");
  screen.line("gateway         http://" + gateway.address());
  screen.line("sample upstream http://" + upstream.address() + "   orders and payments, in memory");
  screen.line("admin           http://" + gateway.admin_address());
  screen.line("store           RocksDB in " + folder);
}

void print_invitation(DemoScreen& screen, const DemoGateway& gateway,
                      const DemoUpstream& upstream) {
  const std::string front = "http://" + gateway.address();
  const std::string admin = "http://" + gateway.admin_address();
  screen.blank();
  screen.heading("Now you");
  screen.line("Send this twice, then change the quantity; any line of the tour can be sent again:");
  screen.line(
      "  curl -i --json '{\"item\":\"mocha\",\"quantity\":1}' "
      "-H 'Idempotency-Key: my-very-first-order' " +
      front + "/orders");
  screen.line("Make it slow or make it fail, with one more header:");
  screen.line("  -H 'X-Demo-Delay: 5s'");
  screen.line("  -H 'X-Demo-Fault: F'      500 503 decline cut reset timeout drop-before");
  screen.blank();
  screen.line("What the upstream did     curl http://" + upstream.address() + "/orders");
  screen.line("                          curl http://" + upstream.address() + "/executions");
  screen.line("What the gateway knows    curl '" + admin + "/records?state=unknown'");
  screen.line("Health and metrics        curl " + admin + "/readyz");
  screen.line("                          curl " + admin + "/metrics");
  screen.line("The published policy      " + front +
              "/.well-known/idempotency   (in a browser, too)");
  screen.blank();
  screen.line("Ctrl-C ends it. The gateway's log follows.");
  screen.blank();
}

void print_verdict(DemoScreen& screen, const DemoTour& tour) {
  screen.blank();
  const std::string held = std::to_string(tour.checks() - tour.failures());
  screen.check(tour.failures() == 0,
               held + " of " + std::to_string(tour.checks()) + " checks held");
}

void print_log(const std::string& path) {
  std::cerr << "\nThe gateway's log:\n" << std::ifstream(path).rdbuf() << std::flush;
}

int show(const DemoOptions& options) {
  DemoFolder folder(options.data);
  const std::string run = run_name();
  DemoShop shop(run);
  DemoUpstream upstream(address_near(upstream_port), shop);
  DemoGateway gateway({.folder = folder.path(),
                       .listen = address_near(gateway_port),
                       .admin = address_near(admin_port),
                       .upstream = "http://" + upstream.address()});
  DemoScreen screen(stdout, colours_wanted());
  print_places(screen, gateway, upstream, folder.path());

  DemoTour tour({.gateway = gateway.address(), .upstream = upstream.address(), .run = run}, shop,
                screen);
  const bool passed = tour.run(ending_asked_for);
  if (tour.failures() > 0) print_log(gateway.log_path());
  print_verdict(screen, tour);
  if (!options.once && !ending_asked_for() && !screen.broken()) {
    print_invitation(screen, gateway, upstream);
    gateway.show_log();
    wait_for_ending();
    screen.blank();
    screen.line(folder.temporary() ? "Stopping; the store goes with it."
                                   : "Stopping; the store stays in " + folder.path() + ".");
  }
  if (!gateway.drain()) {
    folder.remove_if_temporary();
    std::fflush(stdout);
    ::_exit(exit_failed);  // requests are still suspended, and their objects in use
  }
  return passed ? exit_good : exit_failed;
}

}  // namespace

int run_demo(int argc, char** argv) {
  CLI::App app("Show what the gateway does, before a sample upstream.", "oncekey demo");
  DemoOptions options;
  app.add_flag("--once", options.once, "end after the tour; 1 when it did not go as it should");
  app.add_option("--data", options.data, "keep the store in this folder [a temporary one]")
      ->type_name("DIR");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool asked_for_help = error.get_exit_code() == 0;
    app.exit(error, std::cout, std::cerr);
    return asked_for_help ? exit_good : exit_usage;
  }
  const sigset_t signals = ending_signals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread: only sigwait sees them
  ::signal(SIGPIPE, SIG_IGN);
  try {
    return show(options);
  } catch (const std::exception& error) {
    std::cerr << "oncekey: " << error.what() << '\n';
    return exit_failed;
  }
}

}  // namespace oncekey::cli
