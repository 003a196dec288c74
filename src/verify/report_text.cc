#include <string>

#include "verify/report.h"

namespace oncekey::verify {
namespace {

constexpr std::size_t id_width = 22;

}  // namespace

std::string text_line(const CheckResult& result, const TextStyle& style) {
  const Verdict verdict = result.finding.verdict;
  std::string text = painted(mark(verdict), verdict, style) + "  " +
                     padded(result.check.id, id_width) + " " + padded(result.check.question, 3) +
                     "  " + printable(result.finding.what) + "\n";
  if (verdict != Verdict::fail && verdict != Verdict::warning) return text;
  const std::string indent(9, ' ');
  text += indent + "promised: " + std::string(result.check.promise) + "\n";
  if (verdict == Verdict::fail)
    text += indent + "means: " + std::string(result.check.meaning) + "\n";
  return text;
}

std::string text_summary(const Report& report, const TextStyle& style) {
  Verdict verdict = Verdict::pass;
  if (report.count(Verdict::warning) > 0) verdict = Verdict::warning;
  if (report.count(Verdict::fail) > 0 || !report.unusable.empty()) verdict = Verdict::fail;
  std::string text = "\n" + painted(printable(report.conclusion()), verdict, style) + "\n";
  text += std::to_string(report.results.size()) +
          " checks: " + std::to_string(report.count(Verdict::pass)) + " pass, " +
          std::to_string(report.count(Verdict::fail)) + " fail, " +
          std::to_string(report.count(Verdict::warning)) + " warning, " +
          std::to_string(report.count(Verdict::skipped)) + " skipped; " +
          std::to_string(report.requests) + " requests in " + std::to_string(report.took_ms) +
          " ms\n";
  return text;
}

}  // namespace oncekey::verify
