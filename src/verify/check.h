// One thing an API promises about retries, and how to find out.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "verify/probe.h"
#include "verify/verdict.h"

namespace oncekey::verify {

// The most that a check sends.
struct Cost {
  int requests = 0;
  int counts = 0;  // of effects; one request each, two where each operation is asked for
  int bursts = 0;  // of as many requests as the subject says
};
int requests_of(const Cost& cost, const Subject& subject);

// What a check cannot do without.
enum class Need : unsigned {
  nothing = 0,
  slow_header = 1,
  fail_header = 2,
  other_tenant = 4,
  credentials = 8,
  second_node = 16,
  json_body = 32,
  other_path = 64,
  short_retention = 128,
  slow = 256,   // --slow
  risky = 512,  // --risky
  body = 1024,
};
constexpr Need operator|(Need a, Need b) {
  return static_cast<Need>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}

struct Check {
  std::string_view id;
  std::string_view group;
  std::string_view question;  // of the specification: "Q2"; "": none
  std::string_view promise;
  std::string_view sends;
  std::string_view meaning;  // for a user, when the promise is broken
  Need needs = Need::nothing;
  Cost cost;
  Finding (*run)(Probe&) = nullptr;
};

// Why the check cannot run on this subject; "": it can.
std::string obstacle_to(const Check& check, const Subject& subject);

// In the order in which they run. The first one shows that the API can be verified at all.
std::span<const Check> replay_checks();
std::span<const Check> once_checks();
std::span<const Check> running_checks();
std::span<const Check> mismatch_checks();
std::span<const Check> key_checks();
std::span<const Check> json_checks();
std::span<const Check> scope_checks();
std::span<const Check> time_checks();
std::span<const Check> wire_checks();
std::vector<Check> all_checks();

}  // namespace oncekey::verify
