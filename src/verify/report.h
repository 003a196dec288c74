// What was found, and its forms for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "verify/check.h"
#include "verify/printable.h"
#include "verify/verdict_text.h"

namespace oncekey::verify {

struct CheckResult {
  Check check;
  Finding finding;
  std::vector<Exchange> trace;
  int requests = 0;
  DurationMs took_ms = 0;
};

struct Report {
  std::string url;
  std::string method;
  std::string profile;
  std::string started;  // RFC 3339
  int requests = 0;
  int requests_max = 0;
  DurationMs took_ms = 0;
  std::string unusable;  // why nothing could be found out; "": it could
  std::vector<CheckResult> results;

  int count(Verdict verdict) const;
  // "Safe to retry", or what stands against it, in one sentence.
  std::string conclusion() const;
};

std::string text_line(const CheckResult& result, const TextStyle& style);
std::string text_summary(const Report& report, const TextStyle& style);
std::string to_json(const Report& report);
std::string to_junit(const Report& report);
std::string to_html(const Report& report);

// A request as a reader wants it: "POST /orders · key 5f0c…  · {…}". Credentials are never shown.
std::string request_line(const Request& request);
// A body, shortened.
std::string excerpt(const std::string& body);

}  // namespace oncekey::verify
