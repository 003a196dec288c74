// One run of the real `oncekey verify`, and what it reported.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace oncekey::test {

struct VerifyRun {
  int exit_code = -1;
  std::map<std::string, std::string> verdicts;  // by the check's id
  int requests = 0;
  std::string json;
  std::string output;  // for a failure's message

  // The ids with that verdict, separated by blanks.
  std::string with(const std::string& verdict) const;
};

// Runs it with --json and what else is needed for the practice shop's orders at `url`.
VerifyRun verify_orders(const std::string& url, const std::vector<std::string>& more = {});

// Runs it as given.
VerifyRun verify_with(const std::vector<std::string>& words);

}  // namespace oncekey::test
