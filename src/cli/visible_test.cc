#include "cli/visible.h"

#include <gtest/gtest.h>
#include <simdjson.h>

namespace oncekey::cli {
namespace {

TEST(Visible, ControlCharactersAreWrittenOut) {
  EXPECT_EQ(visible("a\x1b[31mb\r\n\tc\x7f"), "a\\x1b[31mb\\x0d\\n\\tc\\x7f");
  EXPECT_EQ(visible("\xc2\x9b"), "\\u009b") << "the terminal's other escape";
  EXPECT_EQ(visible("a\xe2\x80\xae"
                    "b"),
            "a\\u202eb")
      << "text must not run backwards";
  EXPECT_EQ(visible("\xff"), "\\xff");
  EXPECT_EQ(visible("Grüße \\o/ 漢字"), "Grüße \\o/ 漢字");
}

TEST(Visible, JsonStaysTheSameValueWithoutRawControls) {
  const std::string json = "{\"k\":\"\x7f\xc2\x9b[2Jé\"}\n";
  const std::string shown = visible_json(json);
  EXPECT_EQ(shown.find('\x7f'), std::string::npos);
  EXPECT_EQ(shown.find("\xc2\x9b"), std::string::npos);
  simdjson::dom::parser parser;
  EXPECT_EQ(std::string_view(parser.parse(shown)["k"]), "\x7f\xc2\x9b[2Jé");
  EXPECT_TRUE(shown.ends_with("}\n"));
}

TEST(Visible, CuttingCountsCharactersAndEndsWithAnEllipsis) {
  EXPECT_EQ(cut("abcdef", 6), "abcdef");
  EXPECT_EQ(cut("abcdefg", 6), "abcde…");
  EXPECT_EQ(cut("ééééééé", 6), "ééééé…");
}

}  // namespace
}  // namespace oncekey::cli
