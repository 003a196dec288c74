#include "crash/ledger.h"

#include <algorithm>

namespace oncekey::test {

HttpRequest Operation::request() const {
  HttpRequest made{.target = target, .body = body};
  made.with("Content-Type", "application/json").with("Idempotency-Key", key);
  return made;
}

bool is_final(const HttpResponse& response) {
  return response.status / 100 == 2 || response.status == 402;
}

std::size_t Ledger::open(std::string key, std::string target, std::string body) {
  std::lock_guard lock(mutex_);
  operations_.push_back({std::move(key), std::move(target), std::move(body)});
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

bool Ledger::sent(std::size_t number) {
  WallTime now = std::chrono::system_clock::now();
  std::lock_guard lock(mutex_);
  Operation& operation = operations_.at(number);
  bool before = operation.first_sent != WallTime();
  if (!before) operation.first_sent = now;
  operation.last_sent = now;
  return before;
}

void Ledger::told_unknown(std::size_t number) {
  std::lock_guard lock(mutex_);
  operations_.at(number).told_unknown = true;
}

std::string Ledger::acknowledge(std::size_t number, const HttpResponse& response) {
  Acknowledged answer{response.status, response.body, response.header("Location")};
  std::lock_guard lock(mutex_);
  Operation& operation = operations_.at(number);
  if (!operation.answer) {
    operation.answer = answer;
    operation.acknowledged_at = std::chrono::system_clock::now();
    if (operation.told_unknown) {
      return "key " + operation.key + " was unknown first, and answered " +
             std::to_string(answer.status) + " later";
    }
  }
  if (*operation.answer == answer) return "";
  return "key " + operation.key + " was answered " + std::to_string(operation.answer->status) +
         " at " + operation.answer->location + " first, and " + std::to_string(answer.status) +
         " at " + answer.location + " later";
}

}  // namespace oncekey::test
