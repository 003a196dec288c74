// What can go wrong with one request, as the caller ordered it or as chance will have it.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace provider {

struct Faults {
  // Before anything is done.
  std::chrono::milliseconds slow{0};
  bool reset_before = false;
  bool error_500 = false;
  // The decision itself; it is kept like any other and repeated to every retry.
  bool decline = false;
  // After it is in the ledger.
  bool timeout_after_charge = false;
  bool reset_after = false;
  bool error_500_after = false;
  // Of the webhook.
  bool duplicate_webhook = false;
  bool lost_webhook = false;
  std::chrono::milliseconds late_webhook{0};

  bool always = false;  // not only on the first try of a key

  // Those that a second try under the same key is spared.
  bool any_of_the_connection() const;
};

// Reads "decline, timeout-after-charge, late-webhook:500, always". The string is the complaint.
std::variant<Faults, std::string> parse_faults(std::string_view text);

// A share of the keys gets one fault each. Which key gets which depends on the seed alone.
class RandomFaults {
 public:
  // "SEED:RATE", such as "42:0.2". `kinds` is a list like the one above; "": all.
  static std::variant<RandomFaults, std::string> parse(std::string_view seed_and_rate,
                                                       std::string_view kinds);

  Faults of(std::string_view key) const;

 private:
  std::uint64_t seed_ = 0;
  double rate_ = 0;
  std::vector<std::string> kinds_;
};

}  // namespace provider
