// Idempotency keys as an API keeps them itself, in memory: right, but for one flaw.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "support/socket.h"
#include "verify/flaw.h"

namespace oncekey::test {

struct Reply {
  int status = 201;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};
Reply problem(int status, const std::string& title, Flaw flaw = Flaw::none);

struct Call {
  std::string method;
  std::string target;
  std::string tenant;
  std::vector<std::string> keys;
  std::string body;
  std::function<bool()> client_gone;
};

class KeyMemory {
 public:
  using Work = std::function<Reply()>;

  KeyMemory(Flaw flaw, Milliseconds retention) : flaw_(flaw), retention_(retention) {}

  Reply answer(const Call& call, const Work& work);

 private:
  struct Entry {
    std::string fingerprint;
    bool running = true;
    Reply reply;
    Deadline expires;
  };

  bool is(Flaw flaw) const { return flaw_ == flaw; }
  std::optional<Reply> read_key(const Call& call, std::string& key) const;
  std::string place_of(const Call& call, const std::string& key) const;
  std::string fingerprint_of(const Call& call) const;
  std::optional<Reply> remembered(const std::string& place, const std::string& fingerprint);
  Reply execute(const Call& call, const std::string& place, const Work& work);
  Reply replay(const Entry& entry) const;

  const Flaw flaw_;
  const Milliseconds retention_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

}  // namespace oncekey::test
