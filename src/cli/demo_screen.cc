#include "cli/demo_screen.h"

namespace oncekey::cli {
namespace {

// Fits a terminal of 100 columns and a page of documentation.
constexpr std::size_t columns = 96;
constexpr std::string_view indent = "   ";

// Where to break a line: after a space or comma when there is one, so that JSON breaks between its
// members.
std::size_t piece_size(std::string_view text, std::size_t room) {
  if (text.size() <= room) return text.size();
  const std::size_t at = text.find_last_of(" ,", room - 1);
  return at == std::string_view::npos ? room : at + 1;
}

}  // namespace

void DemoScreen::print(Style style, std::string_view text) {
  static constexpr const char* codes[] = {"",         "\033[1m",  "\033[2m",
                                          "\033[32m", "\033[31m", "\033[36m"};
  const bool styled = colours_ && style != Style::plain;
  std::fprintf(out_, "%s%.*s%s", styled ? codes[static_cast<int>(style)] : "",
               static_cast<int>(text.size()), text.data(), styled ? "\033[0m" : "");
}

void DemoScreen::wrapped(Style style, std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = piece_size(text, columns - indent.size());
    std::string_view piece = text.substr(0, size);
    text.remove_prefix(size);
    if (piece.ends_with(' ')) piece.remove_suffix(1);
    print(Style::plain, indent);
    print(style, piece);
    print(Style::plain, "\n");
  }
}

void DemoScreen::heading(std::string_view text) {
  print(Style::bold, text);
  print(Style::plain, "\n");
}

void DemoScreen::line(std::string_view text) {
  print(Style::plain, indent);
  print(Style::plain, text);
  print(Style::plain, "\n");
  std::fflush(out_);
}

void DemoScreen::blank() {
  print(Style::plain, "\n");
  std::fflush(out_);
}

void DemoScreen::step(int number, std::string_view title, std::string_view explanation) {
  blank();
  print(Style::bold, std::to_string(number) + "  ");
  print(Style::bold, title);
  print(Style::plain, "\n");
  wrapped(Style::dim, explanation);
}

void DemoScreen::request(const DemoRequest& request, std::string_view note) {
  print(Style::plain, "\n");
  if (!note.empty()) wrapped(Style::dim, "# " + std::string(note));
  std::string_view prompt = "$ ";
  for (const std::string& line : request.curl()) {
    print(Style::plain, indent);
    print(Style::accent, std::string(prompt) + line);
    print(Style::plain, "\n");
    prompt = "  ";
  }
  std::fflush(out_);
}

void DemoScreen::answer(const DemoAnswer& answer, std::initializer_list<std::string_view> names) {
  if (answer.status != 0) wrapped(Style::bold, answer.status_line);
  for (std::string_view name : names) {
    const std::string value = answer.header(name);
    if (!value.empty()) wrapped(Style::plain, std::string(name) + ": " + value);
  }
  body(answer);
}

void DemoScreen::body(const DemoAnswer& answer) {
  if (answer.status == 0) wrapped(Style::bad, "(no answer: " + answer.failure + ")");
  std::string_view text = answer.body;
  while (text.ends_with('\n')) text.remove_suffix(1);
  wrapped(Style::plain, text);
  std::fflush(out_);
}

void DemoScreen::check(bool holds, std::string_view expectation) {
  print(Style::plain, indent);
  print(holds ? Style::good : Style::bad, holds ? "✓ " : "✗ ");
  print(holds ? Style::good : Style::bad, expectation);
  print(Style::plain, "\n");
  std::fflush(out_);
}

}  // namespace oncekey::cli
