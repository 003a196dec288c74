#include "verify/report.h"

#include <algorithm>

#include "boundary/html.h"
#include "boundary/utf8.h"

namespace oncekey::verify {
namespace {

constexpr std::size_t excerpt_max = 600;

std::string times(int count, std::string_view one, std::string_view many) {
  return std::to_string(count) + " " + std::string(count == 1 ? one : many);
}

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

std::string printable(std::string_view text) {
  constexpr std::string_view replacement = "\uFFFD";
  std::string out;
  while (!text.empty()) {
    const std::size_t size = utf8_sequence_length(text);
    const auto lead = static_cast<unsigned char>(text.front());
    const bool control = (lead < 0x20 && lead != '\n' && lead != '\t') || lead == 0x7f ||
                         (lead == 0xc2 && size == 2 && static_cast<unsigned char>(text[1]) < 0xa0);
    out += size == 0 || control ? replacement : text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out;
}

std::string escape_markup(std::string_view text) {
  return escape_html(printable(text));
}

}  // namespace oncekey::verify
