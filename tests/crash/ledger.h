// What the campaign's clients sent and what they were told: one half of the evidence. The other
// half is the upstream's audit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/http_client.h"

namespace oncekey::test {

struct Acknowledged {
  int status = 0;
  std::string body;
  std::string location;

  bool operator==(const Acknowledged&) const = default;
};

struct Operation {
  std::string key;
  std::string body;
  std::optional<Acknowledged> answer;  // the first complete answer that a replay must repeat
};

class Ledger {
 public:
  // A new operation; its number is how it is referred to from then on.
  std::size_t open(std::string key, std::string body);
  std::optional<std::size_t> pick_recent(std::mt19937_64& random) const;
  Operation at(std::size_t number) const;
  std::size_t size() const;

  // Compares a complete 2xx answer with the first one, or makes it the first one.
  // Returns what is wrong, "" when nothing is.
  std::string acknowledge(std::size_t number, const HttpResponse& response);

 private:
  static constexpr std::size_t recent_max = 200;  // duplicates come soon after the first try

  mutable std::mutex mutex_;
  std::vector<Operation> operations_;
};

}  // namespace oncekey::test
