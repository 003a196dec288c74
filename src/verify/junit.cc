#include "verify/junit.h"

#include <algorithm>
#include <cstdio>

#include "verify/printable.h"

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

std::string test_case(const std::string& class_name, const JunitCase& each) {
  std::string text = "  <testcase" + attribute("classname", class_name) +
                     attribute("name", each.name) + attribute("time", seconds(each.took_ms)) +
                     ">\n";
  const std::string& what = each.finding.what;
  switch (each.finding.verdict) {
    case Verdict::pass:
      break;
    case Verdict::fail:
      text += "    <failure" + attribute("message", what) + ">" + escape_markup(each.detail) +
              "</failure>\n";
      break;
    case Verdict::skipped:
      text += "    <skipped" + attribute("message", what) + "/>\n";
      break;
    case Verdict::warning:
      text += "    <system-out>warning: " + escape_markup(what) + "</system-out>\n";
      break;
  }
  return text + "  </testcase>\n";
}

std::string count_of(const JunitSuite& suite, Verdict verdict) {
  return std::to_string(
      std::count_if(suite.cases.begin(), suite.cases.end(),
                    [verdict](const JunitCase& each) { return each.finding.verdict == verdict; }));
}

}  // namespace

std::string junit_text(const JunitSuite& suite) {
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite" + attribute("name", suite.name) +
      attribute("tests", std::to_string(suite.cases.size())) +
      attribute("failures", count_of(suite, Verdict::fail)) +
      attribute("skipped", count_of(suite, Verdict::skipped)) +
      attribute("errors", suite.unusable ? "1" : "0") + attribute("timestamp", suite.started) +
      attribute("time", seconds(suite.took_ms)) + ">\n";
  for (const JunitCase& each : suite.cases) text += test_case(suite.class_name, each);
  return text + "</testsuite>\n";
}

}  // namespace oncekey::verify
