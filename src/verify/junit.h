// JUnit XML, as CI systems read it.
#pragma once

#include <string>
#include <vector>

#include "oncekey/record.h"
#include "verify/verdict.h"

namespace oncekey::verify {

struct JunitCase {
  std::string name;
  Finding finding;
  std::string detail;  // of a failure
  DurationMs took_ms = 0;
};

struct JunitSuite {
  std::string name;
  std::string class_name;  // of every case
  std::string started;     // RFC 3339
  DurationMs took_ms = 0;
  bool unusable = false;  // counts as an error
  std::vector<JunitCase> cases;
};

std::string junit_text(const JunitSuite& suite);

}  // namespace oncekey::verify
