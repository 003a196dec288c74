// What goes on without a client: workflows whose process died, and orders whose webhook never came.
#pragma once

#include <oncekey/role.h>

#include <chrono>

#include "desk.h"

namespace payments {

class Background {
 public:
  // `desk` is its own. Orders that have been pending for `patience` are asked about.
  Background(std::unique_ptr<Desk> desk, const Provider& provider, std::chrono::milliseconds every,
             std::chrono::milliseconds patience);

 private:
  bool run_once();  // true: there is more to do
  void inquire(const Order& order);

  std::unique_ptr<Desk> desk_;
  const Provider& provider_;
  std::chrono::milliseconds patience_;
  oncekey::Role role_;  // last: it runs as soon as it is there
};

}  // namespace payments
