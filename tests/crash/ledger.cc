#include "crash/ledger.h"

#include <algorithm>

namespace oncekey::test {

std::size_t Ledger::open(std::string key, std::string body) {
  std::lock_guard lock(mutex_);
  operations_.push_back({std::move(key), std::move(body), std::nullopt});
  return operations_.size() - 1;
}

std::optional<std::size_t> Ledger::pick_recent(std::mt19937_64& random) const {
  std::lock_guard lock(mutex_);
  if (operations_.empty()) return std::nullopt;
  std::size_t back = random() % std::min(recent_max, operations_.size());
  return operations_.size() - 1 - back;
}

Operation Ledger::at(std::size_t number) const {
  std::lock_guard lock(mutex_);
  return operations_.at(number);
}

std::size_t Ledger::size() const {
  std::lock_guard lock(mutex_);
  return operations_.size();
}

std::string Ledger::acknowledge(std::size_t number, const HttpResponse& response) {
  Acknowledged answer{response.status, response.body, response.header("Location")};
  std::lock_guard lock(mutex_);
  Operation& operation = operations_.at(number);
  if (!operation.answer) operation.answer = answer;
  if (*operation.answer == answer) return "";
  return "key " + operation.key + " was answered " + std::to_string(operation.answer->status) +
         " at " + operation.answer->location + " first, and " + std::to_string(answer.status) +
         " at " + answer.location + " later";
}

}  // namespace oncekey::test
