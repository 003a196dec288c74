// What the demo prints: steps, requests, answers, checks. Colours only where somebody looks.
#pragma once

#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

#include "cli/demo_client.h"

namespace oncekey::cli {

class DemoScreen {
 public:
  DemoScreen(std::FILE* out, bool colours) : out_(out), colours_(colours) {}

  void heading(std::string_view text);
  void line(std::string_view text);  // as it is, indented
  void blank();
  // A number, what happens, and why it matters.
  void step(int number, std::string_view title, std::string_view explanation);
  void request(const DemoRequest& request, std::string_view note = "");
  // The status line, those of `names` that came, and the body.
  void answer(const DemoAnswer& answer, std::initializer_list<std::string_view> names);
  void body(const DemoAnswer& answer);  // wrapped; otherwise as it came
  void check(bool holds, std::string_view expectation);

  bool broken() const { return std::ferror(out_) != 0; }  // nobody reads any more

 private:
  enum class Style { plain, bold, dim, good, bad, accent };

  void print(Style style, std::string_view text);
  void wrapped(Style style, std::string_view text);

  std::FILE* out_;
  bool colours_;
};

}  // namespace oncekey::cli
