#include "audit/audit.h"
#include "verify/junit.h"

namespace oncekey::audit {

std::string to_junit(const Report& report) {
  verify::JunitSuite suite;
  suite.name = "oncekey audit " + report.file;
  suite.class_name = "oncekey.audit";
  suite.started = report.started;
  for (const OperationResult& result : report.results) {
    const std::string place = report.file + ":" + std::to_string(result.operation.at.line);
    suite.cases.push_back({result.operation.name(), result.finding,
                           place + ": " + result.finding.what + "\nA retry may run it again.", 0});
  }
  return junit_text(suite);
}

}  // namespace oncekey::audit
