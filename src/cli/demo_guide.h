// What the demo says before and after its tour: where everything is, and what to try.
#pragma once

#include <string>

#include "cli/demo_screen.h"

namespace oncekey::cli {

struct DemoAddresses {  // host:port
  std::string gateway;
  std::string admin;
  std::string upstream;
};

void print_places(DemoScreen& screen, const DemoAddresses& addresses, const std::string& folder);
void print_without_payments(DemoScreen& screen);
void print_verdict(DemoScreen& screen, int checks, int failures);
void print_invitation(DemoScreen& screen, const DemoAddresses& addresses);

}  // namespace oncekey::cli
