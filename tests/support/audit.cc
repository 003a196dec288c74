#include "support/audit.h"

#include <algorithm>
#include <stdexcept>

namespace oncekey::test {

Audit::Audit(const std::string& path) : file_(std::fopen(path.c_str(), "a")) {
  if (!file_) throw std::runtime_error("cannot write the audit file " + path);
}

Arrival Audit::enter(Arrival arrival) {
  std::lock_guard lock(mutex_);
  arrival.number = arrivals_.size() + 1;
  arrival.time = std::chrono::system_clock::now();
  if (file_) {
    std::fprintf(file_.get(), "%zu %s %s %s key=%s body=%016llx\n", arrival.number,
                 arrival.effect ? "effect" : "refused", arrival.method.c_str(),
                 arrival.target.c_str(), arrival.key.c_str(),
                 static_cast<unsigned long long>(arrival.request.body_checksum));
    std::fflush(file_.get());
  }
  arrivals_.push_back(arrival);
  entered_.notify_all();
  return arrival;
}

void Audit::set_answer(std::size_t number, std::string answer) {
  std::lock_guard lock(mutex_);
  arrivals_.at(number - 1).answer = std::move(answer);
}

std::size_t Audit::size() const {
  std::lock_guard lock(mutex_);
  return arrivals_.size();
}

std::vector<Arrival> Audit::all() const {
  std::lock_guard lock(mutex_);
  return arrivals_;
}

std::vector<Arrival> Audit::of_key(std::string_view key) const {
  std::lock_guard lock(mutex_);
  std::vector<Arrival> found;
  std::copy_if(arrivals_.begin(), arrivals_.end(), std::back_inserter(found),
               [&](const Arrival& arrival) { return arrival.key == key; });
  return found;
}

std::size_t Audit::effects(std::string_view key) const {
  std::vector<Arrival> found = of_key(key);
  return static_cast<std::size_t>(std::count_if(
      found.begin(), found.end(), [](const Arrival& arrival) { return arrival.effect; }));
}

bool Audit::wait_for_arrivals(std::size_t count, Milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return entered_.wait_for(lock, timeout, [&] { return arrivals_.size() >= count; });
}

bool Audit::wait_for_arrivals(std::string_view key, std::size_t count, Milliseconds timeout) const {
  std::unique_lock lock(mutex_);
  return entered_.wait_for(lock, timeout, [&] {
    return static_cast<std::size_t>(
               std::count_if(arrivals_.begin(), arrivals_.end(),
                             [&](const Arrival& a) { return a.key == key; })) >= count;
  });
}

}  // namespace oncekey::test
