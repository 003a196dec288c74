// Runs the checks one after another.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/report.h"

namespace oncekey::verify {

struct Choice {
  std::vector<std::string> only;  // ids; empty: all
  std::vector<std::string> skip;
};
// The first check is always among them: the others build on it. An id that does not exist is the
// error.
Result<std::vector<Check>, std::string> chosen_checks(const Choice& choice);

struct Progress {
  std::function<void(const Check&)> begins;
  std::function<void(const CheckResult&)> ended;
};
Report run(const Subject& subject, const std::vector<Check>& checks, const Progress& progress);

// What would be sent, and how much of it; sends nothing.
std::string plan(const Subject& subject, const std::vector<Check>& checks);

}  // namespace oncekey::verify
