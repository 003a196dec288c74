// The second part of the demo: a service on the library (examples/payments) behind the gateway, the
// provider it charges at, and the worker that delivers its outbox. Two of them are killed in the
// middle of their work, and it heals.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "cli/demo_client.h"
#include "cli/demo_gateway.h"
#include "cli/demo_process.h"
#include "cli/demo_screen.h"

namespace oncekey::cli {

class DemoPayments {
 public:
  static bool available();  // its programs are beside this one

  // Starts everything, on free ports, with its files in `folder`. Throws std::runtime_error.
  DemoPayments(std::string folder, std::string run, DemoScreen& screen);

  // Whether every check held. Steps are counted on from `first_step`.
  bool run(int first_step, const std::function<bool()>& interrupted);
  void print_places();
  bool drain() { return gateway_->drain(); }

  int checks() const { return checks_; }
  int failures() const { return failures_; }
  std::string output() const;  // what the programs have printed

 private:
  void pay(int step);
  void service_dies(int step);
  void worker_dies(int step);
  void sums_agree(int step);

  void start_provider(const std::string& webhook_url);
  void start_service(const std::string& crash_at);
  void start_worker(const std::string& crash_at);
  DemoRequest post(const std::string& key, const std::string& body) const;
  DemoRequest get(const std::string& address, const std::string& target) const;
  DemoAnswer send(const DemoRequest& request, std::string_view note = "");
  // Sends it again, silently, until it is answered so.
  void await(const DemoRequest& request, const std::function<bool(const DemoAnswer&)>& wanted);
  void check(bool holds, std::string_view expectation);
  void check_charged_once(const std::string& reference);

  std::string folder_;
  std::string run_;
  DemoScreen& screen_;
  std::string provider_address_ = "127.0.0.1:0";
  std::string service_address_ = "127.0.0.1:0";
  std::unique_ptr<DemoProcess> provider_;
  std::unique_ptr<DemoProcess> service_;
  std::unique_ptr<DemoProcess> worker_;
  std::unique_ptr<DemoGateway> gateway_;
  int checks_ = 0;
  int failures_ = 0;
};

}  // namespace oncekey::cli
