#include "verify/junit.h"
#include "verify/report.h"

namespace oncekey::verify {

std::string to_junit(const Report& report) {
  JunitSuite suite{"oncekey verify " + report.url,
                   "oncekey.verify",
                   report.started,
                   report.took_ms,
                   !report.unusable.empty(),
                   {}};
  for (const CheckResult& result : report.results) {
    const std::string detail = "promised: " + std::string(result.check.promise) +
                               "\nsent: " + std::string(result.check.sends) +
                               "\ncame back: " + result.finding.what +
                               "\nmeans: " + std::string(result.check.meaning);
    suite.cases.push_back({std::string(result.check.id), result.finding, detail, result.took_ms});
  }
  return junit_text(suite);
}

}  // namespace oncekey::verify
