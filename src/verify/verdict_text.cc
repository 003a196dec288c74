#include "verify/verdict_text.h"

namespace oncekey::verify {
namespace {

std::string_view colour_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "\033[32m";
    case Verdict::fail:
      return "\033[1;31m";
    case Verdict::warning:
      return "\033[33m";
    case Verdict::skipped:
      return "\033[2m";
  }
  return "";
}

}  // namespace

std::string_view to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::fail:
      return "fail";
    case Verdict::warning:
      return "warning";
    case Verdict::skipped:
      return "skipped";
  }
  return "";
}

std::string_view mark(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass   ";
    case Verdict::fail:
      return "FAIL   ";
    case Verdict::warning:
      return "warning";
    case Verdict::skipped:
      return "skipped";
  }
  return "";
}

std::string painted(std::string_view text, Verdict verdict, const TextStyle& style) {
  if (!style.colour) return std::string(text);
  return std::string(colour_of(verdict)) + std::string(text) + "\033[0m";
}

}  // namespace oncekey::verify
