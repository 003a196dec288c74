#include <algorithm>

#include "audit/audit.h"
#include "verify/printable.h"
#include "verify/verdict_text.h"

namespace oncekey::audit {
namespace {

using verify::padded;
using verify::printable;
using verify::width_of;

constexpr std::size_t method_width = 7;
constexpr std::size_t path_width_max = 44;  // a wider one gets a line of its own
constexpr std::size_t gap = 2;

std::string document_cell(const OperationResult& result) {
  const bool silent = result.declared == Declared::no;
  if (silent) return result.needs_key && !result.excepted ? "no key" : "-";
  return std::string(to_string(result.declared));
}

std::string gateway_cell(const OperationResult& result) {
  if (!result.protection) return "-";
  const Protection& found = *result.protection;
  if (found.kind == Protection::Kind::none) {
    return result.needs_key && !result.excepted ? "no route" : "-";
  }
  return std::string(to_string(found.kind)) + ", route " + std::to_string(found.number);
}

std::string asked_cell(const OperationResult& result) {
  if (!result.asked) return "-";
  const std::string kind(to_string(result.asked->kind));
  return result.asked->status == 0 ? "no answer"
                                   : kind + " " + std::to_string(result.asked->status);
}

struct Column {
  std::string title;
  std::string (*cell)(const OperationResult&);
  std::size_t width = 0;
};

class Table {
 public:
  Table(const Report& report, const verify::TextStyle& style) : report_(report), style_(style) {
    columns_.push_back({"document", document_cell});
    if (!report.config_file.empty()) columns_.push_back({"gateway", gateway_cell});
    if (!report.url.empty()) columns_.push_back({"without a key", asked_cell});
    for (Column& column : columns_) {
      column.width = column.title.size();
      for (const OperationResult& result : report.results) {
        column.width = std::max(column.width, width_of(column.cell(result)));
      }
    }
    path_width_ = std::string_view("operation").size() - method_width;
    for (const OperationResult& result : report.results) {
      const std::size_t width = width_of(printable(result.operation.path));
      if (width <= path_width_max) path_width_ = std::max(path_width_, width);
    }
  }

  std::string text() const {
    std::string out = indent() + padded("operation", method_width + path_width_);
    for (const Column& column : columns_)
      out += std::string(gap, ' ') + padded(column.title, column.width);
    out = trimmed(out) + "\n";
    for (const OperationResult& result : report_.results) out += row(result);
    return out;
  }

 private:
  static std::string indent() { return std::string(verify::mark_width + gap, ' '); }

  static std::string trimmed(std::string line) {
    line.resize(line.find_last_not_of(' ') + 1);
    return line;
  }

  std::string row(const OperationResult& result) const {
    const Verdict verdict = result.finding.verdict;
    const std::string path = printable(result.operation.path);
    std::string cells;
    for (const Column& column : columns_) {
      cells += std::string(gap, ' ') + padded(column.cell(result), column.width);
    }
    std::string line = padded(result.operation.method, method_width) + padded(path, path_width_);
    if (width_of(path) > path_width_) {
      line += "\n" + std::string(indent().size() + method_width + path_width_, ' ');
    }
    std::string out = painted(mark(verdict), verdict, style_) + std::string(gap, ' ') +
                      trimmed(line + cells) + "\n";
    const bool told = verdict == Verdict::fail || verdict == Verdict::warning;
    return told ? out + reasons(result.finding.what) : out;
  }

  // One line for each.
  static std::string reasons(const std::string& what) {
    std::string out;
    std::string_view rest = what;
    while (!rest.empty()) {
      const std::size_t end = rest.find("; ");
      out += indent() + "  " + printable(rest.substr(0, end)) + "\n";
      rest = end == rest.npos ? std::string_view() : rest.substr(end + 2);
    }
    return out;
  }

  const Report& report_;
  const verify::TextStyle& style_;
  std::vector<Column> columns_;
  std::size_t path_width_ = 0;
};

std::string heading(const Report& report) {
  std::string text = report.file + ": OpenAPI " + report.version;
  if (!report.title.empty()) text += ", \"" + report.title + "\"";
  text +=
      ", " + verify::times(static_cast<int>(report.results.size()),
                           "operation that changes something", "operations that change something");
  return printable(text) + "\n";
}

std::string flow_lines(const Report& report) {
  if (report.flows.empty()) return "";
  std::string text =
      "\nSteps that follow one another, the first safe to repeat and the next not:\n";
  for (const Flow& flow : report.flows) {
    const std::string by = flow.by == "path" ? "" : " (link " + flow.by + ")";
    text += "  " + printable(flow.from + " → " + flow.to + by) + "\n";
  }
  return text;
}

std::string closing_routes(const Report& report) {
  if (report.routes.empty()) return "";
  const std::string where =
      report.config_file.empty() ? "a gateway's configuration" : report.config_file;
  return "\nThese routes would close the gap. Put them before the other [[route]]s of " +
         printable(where) + ": the first match wins.\n\n" + printable(report.routes);
}

}  // namespace

std::string to_text(const Report& report, bool colour) {
  const verify::TextStyle style{colour};
  std::string text = heading(report);
  if (!report.results.empty()) text += "\n" + Table(report, style).text();
  text += flow_lines(report);
  if (!report.notes.empty()) text += "\n";
  for (const std::string& note : report.notes) text += "note: " + printable(note) + "\n";
  Verdict verdict = Verdict::pass;
  if (report.count(Verdict::warning) > 0) verdict = Verdict::warning;
  if (report.count(Verdict::fail) > 0) verdict = Verdict::fail;
  text += "\n" + painted(report.conclusion(), verdict, style) + "\n";
  text += std::to_string(report.results.size()) + " operations:";
  std::string separator = " ";
  for (const Verdict each : verify::all_verdicts) {
    text += separator + std::to_string(report.count(each)) + " " + std::string(to_string(each));
    separator = ", ";
  }
  return text + "\n" + closing_routes(report);
}

}  // namespace oncekey::audit
