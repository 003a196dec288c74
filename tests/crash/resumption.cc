#include "crash/resumption.h"

#include <algorithm>
#include <atomic>
#include <future>
#include <stdexcept>

#include "support/json_text.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Milliseconds promised{5'000};
constexpr Milliseconds given_up{60'000};

Milliseconds since(Clock::time_point start) {
  return std::chrono::duration_cast<Milliseconds>(Clock::now() - start);
}

// One gateway's visitor: the same request again until it was executed. Only an outcome that nobody
// knows makes it take another key.
class Visitor {
 public:
  Visitor(Ledger& ledger, std::uint16_t port) : ledger_(ledger), port_(port) { open(); }

  bool is_served() {
    ledger_.sent(number_);
    HttpResponse response = exchange(port_, ledger_.at(number_).request());
    if (is_final(response)) return ledger_.acknowledge(number_, response).empty();
    if (json_text(response.body, "/code") == "outcome_unknown") {
      ledger_.told_unknown(number_);
      open();
    }
    return false;
  }

 private:
  void open() {
    std::string name = std::to_string(ledger_.size()) + "-" + std::to_string(port_);
    number_ =
        ledger_.open("resumption-probe-key-" + name, "/orders", "{\"probe\":\"" + name + "\"}");
  }

  Ledger& ledger_;
  std::uint16_t port_;
  std::size_t number_ = 0;
};

}  // namespace

Milliseconds await_service(Ledger& ledger, const std::vector<std::uint16_t>& ports,
                           std::vector<Finding>& findings) {
  Clock::time_point start = Clock::now();
  std::vector<std::future<Milliseconds>> gateways;
  for (std::uint16_t port : ports) {
    gateways.push_back(std::async(std::launch::async, [&ledger, port, start] {
      Visitor visitor(ledger, port);
      if (!eventually([&] { return visitor.is_served(); }, given_up)) {
        throw std::runtime_error("a gateway does not serve again");
      }
      return since(start);
    }));
  }
  Milliseconds longest{0};
  for (auto& gateway : gateways) longest = std::max(longest, gateway.get());
  if (longest > promised) {
    findings.push_back({Finding::Kind::fault, "",
                        "no service for " + std::to_string(longest.count()) +
                            " ms after the disturbance was over"});
  }
  return longest;
}

}  // namespace oncekey::test
