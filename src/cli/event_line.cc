#include "cli/event_line.h"

#include <cstdio>

#include "cli/visible.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

constexpr std::size_t decision_width = 11;  // the longest is "unavailable"

std::string milliseconds(std::int64_t us) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1fms", static_cast<double>(us) / 1000.0);
  return text;
}

std::string request_line(JsonElement event, const Style& style) {
  const std::string decision = field(event, "decision");
  std::string line = style.paint(verify::padded(decision, decision_width), tone_of(decision));
  line += "  " + field(event, "status") + "  " + visible(field(event, "method")) + " " +
          visible(field(event, "path"));
  const std::string key = field(event, "key");
  if (!key.empty()) line += "  " + visible(key);
  std::string more = milliseconds(number_field(event, "total_us"));
  const std::string tenant = field(event, "tenant");
  if (!tenant.empty()) more = "tenant " + visible(tenant) + ", " + more;
  const std::string outcome = field(event, "outcome");
  if (!outcome.empty() && outcome != "completed") {
    more += ", " + style.paint(outcome, tone_of(outcome));
  }
  if (field(event, "client_gone") == "true") more += ", client gone";
  const std::string error = field(event, "error");
  if (!error.empty()) more += ", " + visible(error);
  return line + "  (" + more + ")";
}

// Whatever else there is: its name, and its members as they are.
std::string other_line(JsonElement event, const Style& style) {
  std::string line =
      style.paint(verify::padded(visible(field(event, "event")), decision_width), Tone::bold);
  simdjson::dom::object members;
  if (event.get(members) != simdjson::SUCCESS) return line;
  for (const auto& [name, value] : members) {
    if (name == "time" || name == "level" || name == "event") continue;
    line += "  " + visible(name) + "=" + visible(field(event, name));
  }
  return line;
}

}  // namespace

std::string event_line(JsonElement event, const Style& style) {
  const bool request = field(event, "event") == "request";
  return style.paint(visible(field(event, "time")), Tone::faint) + "  " +
         (request ? request_line(event, style) : other_line(event, style));
}

}  // namespace oncekey::cli
