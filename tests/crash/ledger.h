// What the campaign's clients sent and what they were told: one half of the evidence. The other
// half is the upstream's audit.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "support/http_client.h"

namespace oncekey::test {

using WallTime = std::chrono::system_clock::time_point;

struct Acknowledged {
  int status = 0;
  std::string body;
  std::string location;

  bool operator==(const Acknowledged&) const = default;
};

struct Operation {
  std::string key;
  std::string target;
  std::string body;
  std::optional<Acknowledged> answer;  // the first complete answer that a replay must repeat
  WallTime acknowledged_at;
  WallTime first_sent;
  WallTime last_sent;
  bool told_unknown = false;  // for good: nothing here resolves a record

  HttpRequest request() const;
};

// Answers that the upstream gave for work it did. They are kept and repeated.
bool is_final(const HttpResponse& response);

class Ledger {
 public:
  // A new operation; its number is how it is referred to from then on.
  std::size_t open(std::string key, std::string target, std::string body);
  std::optional<std::size_t> pick_recent(std::mt19937_64& random) const;
  Operation at(std::size_t number) const;
  std::size_t size() const;

  bool sent(std::size_t number);  // false: for the first time
  void told_unknown(std::size_t number);

  // Compares a final answer with the first one, or makes it the first one.
  // Returns what is wrong, "" when nothing is.
  std::string acknowledge(std::size_t number, const HttpResponse& response);

 private:
  static constexpr std::size_t recent_max = 200;  // duplicates come soon after the first try

  mutable std::mutex mutex_;
  std::vector<Operation> operations_;
};

}  // namespace oncekey::test
