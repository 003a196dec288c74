#include "cli/table.h"

#include <algorithm>
#include <ostream>

#include "cli/visible.h"
#include "verify/printable.h"

namespace oncekey::cli {
namespace {

constexpr std::string_view gap = "  ";

std::string aligned(const Cell& cell, std::size_t width, bool to_the_right, const Style& style) {
  const std::size_t taken = verify::width_of(cell.text);
  const std::string blanks(width > taken ? width - taken : 0, ' ');
  const std::string text = style.paint(cell.text, cell.tone);
  return to_the_right ? blanks + text : text + blanks;
}

}  // namespace

Table::Table(std::vector<Column> columns, Style style, bool wide)
    : columns_(std::move(columns)), style_(style), wide_(wide) {
  for (const Column& column : columns_) widths_.push_back(verify::width_of(column.title));
}

void Table::add(std::vector<Cell> row) {
  for (std::size_t i = 0; i < row.size(); ++i) {
    std::string& text = row[i].text;
    text = visible(text);
    if (!wide_) text = cut(text, columns_[i].width_max);
    if (text.empty()) text.push_back('-');
    widths_[i] = std::max(widths_[i], verify::width_of(text));
  }
  rows_.push_back(std::move(row));
}

void Table::print_row(std::ostream& out, const std::vector<Cell>& row) const {
  std::string line;
  for (std::size_t i = 0; i < row.size(); ++i) {
    // Blanks at the end of a line are of no use to anybody.
    const bool last = i + 1 == row.size() && !columns_[i].to_the_right;
    line += aligned(row[i], last ? 0 : widths_[i], columns_[i].to_the_right, style_);
    if (i + 1 < row.size()) line += gap;
  }
  out << line << '\n';
}

void Table::print(std::ostream& out) {
  if (!headed_) {
    std::vector<Cell> heading;
    for (const Column& column : columns_) heading.emplace_back(column.title, Tone::bold);
    print_row(out, heading);
    headed_ = true;
  }
  for (const std::vector<Cell>& row : rows_) print_row(out, row);
  rows_.clear();
}

void Sheet::add(std::string name, std::string value, Tone tone) {
  if (!value.empty()) lines_.push_back({std::move(name), Cell(visible(value), tone)});
}

void Sheet::print(std::ostream& out) const {
  std::size_t width = 0;
  for (const Line& line : lines_) width = std::max(width, verify::width_of(line.name));
  for (const Line& line : lines_) {
    out << style_.paint(verify::padded(line.name, width), Tone::faint) << gap
        << style_.paint(line.value.text, line.value.tone) << '\n';
  }
}

}  // namespace oncekey::cli
