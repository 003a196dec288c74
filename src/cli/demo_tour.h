// The demo's tour: real requests through the gateway, each with what it must show. Every check
// looks at the answer that came, or asks the sample upstream what it really did.
#pragma once

#include <functional>
#include <string>

#include "cli/demo_client.h"
#include "cli/demo_screen.h"
#include "cli/demo_shop.h"

namespace oncekey::cli {

struct TourStops {
  std::string gateway;   // host:port
  std::string upstream;  // host:port
  std::string run;       // part of every key, so that a kept store never knows them already
};

class DemoTour {
 public:
  static constexpr int steps = 7;

  DemoTour(TourStops stops, const DemoShop& shop, DemoScreen& screen)
      : stops_(std::move(stops)), shop_(shop), screen_(screen) {}

  // Whether every check held. `interrupted` is asked between steps.
  bool run(const std::function<bool()>& interrupted);

  int checks() const { return checks_; }
  int failures() const { return failures_; }

 private:
  void first_request();
  void retry_is_replayed();
  void two_at_once();
  void other_body();
  void missing_key();
  void answer_cut_off();
  void proved_failure();

  std::string key(std::string_view name) const;
  DemoRequest post(std::string_view path, const std::string& key, std::string body) const;
  DemoAnswer send(const DemoRequest& request, std::string_view note = "");
  void show(const DemoAnswer& answer);
  void check(bool holds, std::string_view expectation);
  // Asks the upstream itself, not the gateway.
  void check_made_once(std::string_view path, const std::string& key);

  TourStops stops_;
  const DemoShop& shop_;
  DemoScreen& screen_;
  DemoAnswer first_;
  int checks_ = 0;
  int failures_ = 0;
};

}  // namespace oncekey::cli
