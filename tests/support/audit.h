// The upstream's own book of what reached it: the witness that the gateway cannot talk to.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "support/http_message.h"
#include "support/socket.h"

namespace oncekey::test {

struct Arrival {
  std::size_t number = 0;  // 1 for the first; also the order
  std::chrono::system_clock::time_point time;
  std::string key;
  std::string method;
  std::string target;
  HttpMessage request;
  bool effect = false;  // the work was done; false: refused before doing anything
  std::string answer;   // the body that was, or would have been, sent
};

class Audit {
 public:
  Audit() = default;
  // Also appends one line per arrival to `path`, written before the arrival is answered.
  explicit Audit(const std::string& path);

  Arrival enter(Arrival arrival);
  void set_answer(std::size_t number, std::string answer);

  std::size_t size() const;
  std::vector<Arrival> all() const;
  std::vector<Arrival> of_key(std::string_view key) const;
  std::size_t effects(std::string_view key) const;

  // False when fewer have arrived in time.
  bool wait_for_arrivals(std::size_t count, Milliseconds timeout = patience) const;
  bool wait_for_arrivals(std::string_view key, std::size_t count,
                         Milliseconds timeout = patience) const;

 private:
  struct CloseFile {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  mutable std::mutex mutex_;
  mutable std::condition_variable entered_;
  std::vector<Arrival> arrivals_;
  std::unique_ptr<std::FILE, CloseFile> file_;
};

}  // namespace oncekey::test
