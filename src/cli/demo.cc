#include "cli/demo.h"

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <stdexcept>

#include "cli/demo_folder.h"
#include "cli/demo_gateway.h"
#include "cli/demo_guide.h"
#include "cli/demo_payments.h"
#include "cli/demo_screen.h"
#include "cli/demo_tour.h"
#include "cli/demo_upstream.h"
#include "cli/exit_code.h"
#include "cli/flags.h"
#include "cli/serve_options.h"
#include "cli/style.h"
#include "gateway/secret.h"

namespace oncekey::cli {
namespace {

constexpr const char* gateway_address = "127.0.0.1:8080";
constexpr const char* admin_address = "127.0.0.1:8081";
constexpr const char* upstream_address = "127.0.0.1:3000";
constexpr const char* free_address = "127.0.0.1:0";

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

void print_log(const std::string& path) {
  std::cerr << "\nThe gateway's log:\n" << std::ifstream(path).rdbuf() << std::flush;
}

// The usual port when it is free, otherwise any that is.
std::unique_ptr<DemoUpstream> start_upstream(DemoShop& shop) {
  try {
    return std::make_unique<DemoUpstream>(upstream_address, shop);
  } catch (const std::runtime_error&) {
    return std::make_unique<DemoUpstream>(free_address, shop);
  }
}

std::unique_ptr<DemoGateway> start_gateway(DemoPlaces places) {
  try {
    return std::make_unique<DemoGateway>(places);
  } catch (const std::runtime_error&) {
    places.listen = places.admin = free_address;
    return std::make_unique<DemoGateway>(places);
  }
}

int show(const DemoOptions& options) {
  DemoFolder folder(options.data);
  const std::string run = run_name();
  DemoShop shop(run.substr(0, 4));
  const auto upstream = start_upstream(shop);
  const auto gateway = start_gateway({.folder = folder.path(),
                                      .listen = gateway_address,
                                      .admin = admin_address,
                                      .upstream = "http://" + upstream->address()});
  DemoScreen screen(stdout, style_of_output(process_surroundings().environment).colour);
  const DemoAddresses addresses{gateway->address(), gateway->admin_address(), upstream->address()};
  print_places(screen, addresses, folder.path());

  DemoTour tour({.gateway = gateway->address(), .upstream = upstream->address(), .run = run}, shop,
                screen);
  bool passed = tour.run(ending_asked_for);
  if (tour.failures() > 0) print_log(gateway->log_path());
  std::unique_ptr<DemoPayments> payments;
  if (passed && !DemoPayments::available()) {
    print_without_payments(screen);
  } else if (passed) {
    payments = std::make_unique<DemoPayments>(folder.path() + "/payments-" + run, run, screen);
    payments->print_places();
    passed = payments->run(DemoTour::steps + 1, ending_asked_for);
    if (payments->failures() > 0) std::cerr << payments->output() << std::flush;
  }
  print_verdict(screen, tour.checks() + (payments ? payments->checks() : 0),
                tour.failures() + (payments ? payments->failures() : 0));
  if (!options.once && !ending_asked_for() && !screen.broken()) {
    print_invitation(screen, addresses);
    gateway->show_log();
    wait_for_ending();
    screen.blank();
    screen.line(folder.temporary() ? "Stopping; the store goes with it."
                                   : "Stopping; the store stays in " + folder.path() + ".");
  }
  const bool payments_drained = !payments || payments->drain();
  if (!gateway->drain() || !payments_drained) {
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
  if (auto code = parse_flags(app, argc, argv, std::cout, std::cerr)) return *code;
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
