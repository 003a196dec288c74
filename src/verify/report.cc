#include "verify/report.h"

#include <algorithm>

namespace oncekey::verify {
namespace {

constexpr std::size_t excerpt_max = 600;

}  // namespace

int Report::count(Verdict verdict) const {
  return static_cast<int>(std::count_if(
      results.begin(), results.end(),
      [verdict](const CheckResult& result) { return result.finding.verdict == verdict; }));
}

std::string Report::conclusion() const {
  if (!unusable.empty()) return "Nothing could be found out: " + unusable;
  const int failed = count(Verdict::fail);
  const int passed = count(Verdict::pass);
  const int warnings = count(Verdict::warning);
  if (failed > 0) {
    return "Not safe to retry: " + times(failed, "promise is", "promises are") + " broken.";
  }
  std::string text = times(passed, "promise holds", "promises hold");
  if (warnings > 0) text += ", " + times(warnings, "warning", "warnings");
  const int skipped = count(Verdict::skipped);
  if (skipped > 0)
    return "No broken promise found: " + text + "; " + std::to_string(skipped) + " not checked.";
  return "Safe to retry: " + text + ".";
}

std::string excerpt(const std::string& body) {
  if (body.size() <= excerpt_max) return body;
  return body.substr(0, excerpt_max) + "… (" + std::to_string(body.size()) + " bytes)";
}

std::string request_line(const Request& request) {
  std::string text = request.method + " " + request.target;
  if (request.caller == Caller::other_tenant) text += " · as the other tenant";
  if (request.caller == Caller::nobody) text += " · without credentials";
  if (request.node == Node::second) text += " · second node";
  for (const std::string& key : request.keys) {
    text += " · key " + (key.empty() ? std::string("(empty)") : key);
  }
  return text;
}

}  // namespace oncekey::verify
