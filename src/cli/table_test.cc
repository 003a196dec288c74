#include "cli/table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <sstream>

namespace oncekey::cli {
namespace {

std::string printed(Table& table) {
  std::ostringstream out;
  table.print(out);
  return out.str();
}

TEST(Table, ColumnsAreAlignedAndWideValuesCut) {
  Table table({{"KEY", 8}, {"TRIES", 6, true}, {"NOTE", 40}}, Style{});
  table.add({Cell("a"), Cell("1"), Cell("")});
  table.add({Cell("a-long-key"), Cell("12"), Cell("é")});
  EXPECT_EQ(printed(table),
            "KEY       TRIES  NOTE\n"
            "a             1  -\n"
            "a-long-…     12  é\n");
}

TEST(Table, NothingIsCutWhenItIsWide) {
  Table table({{"KEY", 4}}, Style{}, true);
  table.add({Cell("a-long-key")});
  EXPECT_EQ(printed(table), "KEY\na-long-key\n");
}

TEST(Table, LaterPartHasNoHeadingAndKeepsItsColumns) {
  Table table({{"KEY", 20}, {"STATE", 20}}, Style{});
  table.add({Cell("a-long-key"), Cell("unknown")});
  printed(table);
  table.add({Cell("b"), Cell("unknown")});
  EXPECT_EQ(printed(table), "b           unknown\n");
}

TEST(Table, ControlCharactersNeverReachTheTerminal) {
  Table table({{"KEY", 40}}, Style{});
  table.add({Cell("k\x1b]0;title\x07\n")});
  EXPECT_EQ(printed(table), "KEY\nk\\x1b]0;title\\x07\\n\n");
  Sheet sheet(Style{});
  sheet.add("key", "k\x1b[2J");
  std::ostringstream out;
  sheet.print(out);
  EXPECT_EQ(out.str(), "key  k\\x1b[2J\n");
}

TEST(Table, ColoursDoNotMoveColumns) {
  Table table({{"STATE", 20}, {"N", 4}}, Style{true});
  table.add({Cell("unknown", Tone::doubtful), Cell("1")});
  table.add({Cell("completed", Tone::good), Cell("2")});
  EXPECT_EQ(printed(table),
            "\033[1mSTATE\033[0m      \033[1mN\033[0m\n"
            "\033[33munknown\033[0m    1\n"
            "\033[32mcompleted\033[0m  2\n");
}

TEST(Table, ColoursOnlyForATerminalThatWantsThem) {
  const char* const environment[] = {"TERM=xterm", nullptr};
  const char* const refusing[] = {"TERM=xterm", "NO_COLOR=1", nullptr};
  EXPECT_FALSE(style_of_output(refusing).colour);
  // Test programs write to a pipe or a file, or a person has called this one.
  EXPECT_EQ(style_of_output(environment).colour, ::isatty(STDOUT_FILENO) == 1);
}

}  // namespace
}  // namespace oncekey::cli
