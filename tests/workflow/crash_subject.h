// The workflows that are killed at every step, in a process of their own (crash_child_main.cc), and
// then go on in the test.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "oncekey/workflow.h"
#include "workflow/link.h"

namespace oncekey::test {

// A provider whose books survive its clients: one line for each request, with its key.
class LedgerFile {
 public:
  explicit LedgerFile(std::string path) : path_(std::move(path)) {}

  std::string charge(const std::string& key) const {
    const int file = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const std::string line = key + "\n";
    if (file < 0 || ::write(file, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
      throw CallFailed(CallFailed::Kind::not_sent, path_ + ": cannot be written");
    }
    ::close(file);
    return "paid under " + key;
  }
  // How often each key was seen. Each of them is one charge.
  std::map<std::string, int> charges() const {
    std::map<std::string, int> seen;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) ++seen[line];
    return seen;
  }

 private:
  std::string path_;
};

// Which phases make a call, by name.
inline const std::map<std::string, std::vector<bool>> crash_shapes = {
    {"one", {false}},
    {"one_call", {true}},
    {"three", {false, true, false}},
    {"three_calls", {true, true, true}},
};

inline Workflow crash_subject(const std::string& shape, Link& link, const LedgerFile& ledger) {
  std::vector<Phase> phases;
  const std::vector<bool>& calls = crash_shapes.at(shape);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    Phase phase;
    phase.name = "p" + std::to_string(i);
    if (calls[i]) phase.call = [&ledger](const PhaseCall& call) { return ledger.charge(call.key); };
    const bool last = i + 1 == calls.size();
    phase.body = [&link, last, name = phase.name](const PhaseBody& body) -> PhaseEnd {
      link.execute("INSERT INTO effects VALUES ('" + body.id.key + "', '" + name + "')");
      body.transaction.enqueue({.destination = name, .payload = body.id.key});
      if (!last) return Next{"", "\"after " + name + "\""};
      StoredResponse response;
      response.status = 201;
      response.body = "done " + body.data + " " + body.result;
      return Finish{response};
    };
    phases.push_back(std::move(phase));
  }
  return Workflow(shape, std::move(phases));
}

inline constexpr int crash_group_size = 8;
inline std::string crash_group_key(const std::string& key, int number) {
  return key + "-" + std::to_string(number);
}

inline RunRequest crash_request(const std::string& key) {
  RunRequest request;
  request.id = {"tenant", key};
  request.fingerprint.version = 1;
  request.input = "{\"key\":\"" + key + "\"}";
  return request;
}

}  // namespace oncekey::test
