// A table for people: aligned columns, a heading, wide values cut.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "cli/style.h"

namespace oncekey::cli {

struct Column {
  std::string title;
  std::size_t width_max = 40;
  bool to_the_right = false;  // numbers
};

struct Cell {
  Cell(const char* t) : text(t) {}
  Cell(std::string t, Tone tone_of_it = Tone::plain) : text(std::move(t)), tone(tone_of_it) {}

  std::string text;  // as it is; made visible when it is printed
  Tone tone = Tone::plain;
};

class Table {
 public:
  // `wide`: nothing is cut.
  Table(std::vector<Column> columns, Style style, bool wide = false);

  void add(std::vector<Cell> row);  // one cell for each column
  bool empty() const { return rows_.empty(); }
  // Prints the rows since the last time, the heading before the first. A later part has columns as
  // wide as an earlier one, or wider.
  void print(std::ostream& out);

 private:
  void print_row(std::ostream& out, const std::vector<Cell>& row) const;

  std::vector<Column> columns_;
  const Style style_;
  const bool wide_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<Cell>> rows_;
  bool headed_ = false;
};

// Names and values, one pair a line; empty values are left out.
class Sheet {
 public:
  explicit Sheet(Style style) : style_(style) {}

  void add(std::string name, std::string value, Tone tone = Tone::plain);
  void print(std::ostream& out) const;

 private:
  struct Line {
    std::string name;
    Cell value;
  };
  const Style style_;
  std::vector<Line> lines_;
};

}  // namespace oncekey::cli
