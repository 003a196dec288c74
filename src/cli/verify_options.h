// What `oncekey verify` was told, by flags or a file.
#pragma once

#include <string>

#include "cli/serve_options.h"
#include "oncekey/result.h"
#include "verify/run.h"
#include "verify/subject.h"

namespace oncekey::cli {

struct VerifyOptions {
  verify::Subject subject;
  verify::Choice choice;
  std::string junit_file;
  std::string html_file;
  bool json = false;
  bool plan = false;
  bool yes = false;  // the host need not be local
};

// The error is the exit code, after what was wrong has been printed; 0 when help was asked for.
Result<VerifyOptions, int> parse_verify_options(int argc, const char* const* argv,
                                                const Surroundings& surroundings);

}  // namespace oncekey::cli
