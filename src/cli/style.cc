#include "cli/style.h"

#include "cli/report_output.h"

namespace oncekey::cli {
namespace {

bool has_entry(const char* const* environment, std::string_view start) {
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with(start)) return true;
  }
  return false;
}

bool refuses_colour(const char* const* environment) {
  for (const char* const* entry = environment; *entry != nullptr; ++entry) {
    const std::string_view variable(*entry);
    if (variable.starts_with("NO_COLOR=") && variable != "NO_COLOR=") return true;
    if (variable == "TERM=dumb") return true;
  }
  return !has_entry(environment, "TERM=");
}

}  // namespace

std::string Style::paint(std::string_view text, Tone tone) const {
  static constexpr const char* codes[] = {"",         "\033[1m",  "\033[2m", "\033[32m",
                                          "\033[31m", "\033[33m", "\033[36m"};
  if (!colour || tone == Tone::plain) return std::string(text);
  return codes[static_cast<int>(tone)] + std::string(text) + "\033[0m";
}

Style style_of_output(const char* const* environment) {
  return {on_terminal() && !refuses_colour(environment)};
}

Tone tone_of(std::string_view word) {
  for (const std::string_view good : {"completed", "delivered", "executed", "replayed", "done"}) {
    if (word == good) return Tone::good;
  }
  for (const std::string_view doubtful : {"unknown", "failed_retryable", "mismatch", "refused",
                                          "limited", "fail_open", "in_flight"}) {
    if (word == doubtful) return Tone::doubtful;
  }
  if (word == "dead" || word == "unavailable") return Tone::bad;
  if (word == "in_progress" || word == "claimed" || word == "accepted") return Tone::busy;
  if (word == "expired") return Tone::faint;
  return Tone::plain;
}

}  // namespace oncekey::cli
