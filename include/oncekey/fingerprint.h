// A keyed digest that tells whether two requests under one key are the same request.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey {

// Which parts of a JSON body count. Empty `include`: all of it. `exclude` is applied after.
struct FingerprintRules {
  std::vector<std::string> include;  // RFC 6901 JSON pointers
  std::vector<std::string> exclude;
};

struct FingerprintInput {
  std::string_view tenant;
  std::string_view method;
  std::string_view target;  // path with query, as it was sent
  std::string_view content_type;
  std::string_view body;
  std::string_view content_encoding = {};  // equal bytes in another coding are another request
  std::string_view first_sent = {};        // where requests have an age: when; "": it is no part
};

// Two different requests have different fingerprints: JSON is compared by RFC 8785 with exact
// numbers, forms by field, and whatever cannot be canonicalised without loss by its bytes.
// Safe to use from several threads at once.
class Fingerprinter {
 public:
  static constexpr std::uint8_t current_version = 1;
  static constexpr std::size_t secret_size_min = 16;

  // `secret` belongs to the deployment. Whoever lacks it cannot test guesses against a digest.
  explicit Fingerprinter(std::string_view secret);
  ~Fingerprinter();
  Fingerprinter(Fingerprinter&&) noexcept;
  Fingerprinter& operator=(Fingerprinter&&) noexcept;

  Fingerprint compute(const FingerprintInput& input, const FingerprintRules& rules) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oncekey
