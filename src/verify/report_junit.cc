#include <cstdio>

#include "verify/report.h"

namespace oncekey::verify {
namespace {

std::string seconds(DurationMs duration) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", static_cast<double>(duration) / 1000.0);
  return text;
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + escape_markup(value) + "\"";
}

std::string test_case(const CheckResult& result) {
  std::string text = "  <testcase" + attribute("classname", "oncekey.verify") +
                     attribute("name", result.check.id) +
                     attribute("time", seconds(result.took_ms)) + ">\n";
  const std::string detail = "promised: " + std::string(result.check.promise) +
                             "\nsent: " + std::string(result.check.sends) +
                             "\ncame back: " + result.finding.what +
                             "\nmeans: " + std::string(result.check.meaning);
  switch (result.finding.verdict) {
    case Verdict::pass:
      break;
    case Verdict::fail:
      text += "    <failure" + attribute("message", result.finding.what) + ">" +
              escape_markup(detail) + "</failure>\n";
      break;
    case Verdict::skipped:
      text += "    <skipped" + attribute("message", result.finding.what) + "/>\n";
      break;
    case Verdict::warning:
      text += "    <system-out>warning: " + escape_markup(result.finding.what) + "</system-out>\n";
      break;
  }
  return text + "  </testcase>\n";
}

}  // namespace

std::string to_junit(const Report& report) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite" +
                     attribute("name", "oncekey verify " + report.url) +
                     attribute("tests", std::to_string(report.results.size())) +
                     attribute("failures", std::to_string(report.count(Verdict::fail))) +
                     attribute("skipped", std::to_string(report.count(Verdict::skipped))) +
                     attribute("errors", report.unusable.empty() ? "0" : "1") +
                     attribute("timestamp", report.started) +
                     attribute("time", seconds(report.took_ms)) + ">\n";
  for (const CheckResult& result : report.results) text += test_case(result);
  return text + "</testsuite>\n";
}

}  // namespace oncekey::verify
