// What `oncekey audit` was told.
#pragma once

#include <string>

#include "audit/audit.h"
#include "cli/serve_options.h"
#include "oncekey/result.h"
#include "verify/subject.h"

namespace oncekey::cli {

struct AuditOptions {
  std::string document;
  std::string config_file;  // "": none
  std::string url;          // "": nothing is asked
  std::string junit_file;
  audit::Settings settings;
  verify::Subject subject;  // of the requests: place, headers, timeout, how many
  bool json = false;
  bool plan = false;
  bool yes = false;  // the host need not be local
};

// The error is the exit code, after what was wrong has been printed; 0 when help was asked for.
Result<AuditOptions, int> parse_audit_options(int argc, const char* const* argv,
                                              const Surroundings& surroundings);

}  // namespace oncekey::cli
