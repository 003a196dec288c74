// Makes changes that leave an entry in the audit file, or does not make them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "admin/audit_log.h"
#include "admin/endpoint.h"
#include "gateway/log.h"

namespace oncekey::admin {

// What became of a change that was tried.
struct Changed {
  bool done = false;
  std::string after;  // JSON, when it was done; "null" when that is not certain
  Reply reply;        // the whole answer; when it was not done, why
};

struct Change {
  std::string_view action;  // "resolve"
  std::string target;       // JSON
  std::string reason;
  std::string before;  // JSON
  std::string wanted;  // JSON
};

class Journal {
 public:
  Journal(AuditLog& audit, gateway::Log& log) : audit_(audit), log_(log) {}

  // `make` is called once the intent is on disk; its reply is given when the result is, too.
  Reply change(const Caller& caller, const Change& change, const std::function<Changed()>& make);

 private:
  AuditLog& audit_;
  gateway::Log& log_;
};

}  // namespace oncekey::admin
