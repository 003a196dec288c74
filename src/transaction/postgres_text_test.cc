#include "transaction/postgres_text.h"

#include <gtest/gtest.h>

namespace oncekey::transaction {
namespace {

TEST(PostgresText, ReadableTextStaysAsItIs) {
  for (const std::string text : {"", "tenant", "Zürich €", "😀", "a\tb"}) {
    EXPECT_EQ(to_postgres_text(text), text);
    EXPECT_EQ(from_postgres_text(text), text);
  }
}

TEST(PostgresText, WhatTextCannotHoldIsEscaped) {
  EXPECT_EQ(to_postgres_text(std::string("a\0b", 3)), "a\\000b");
  EXPECT_EQ(to_postgres_text("\xff"), "\\377");
  EXPECT_EQ(to_postgres_text("a\\b"), "a\\\\b");
  EXPECT_EQ(to_postgres_text("\xed\xa0\x80"), "\\355\\240\\200");  // a surrogate
  EXPECT_EQ(to_postgres_text("\xc0\xaf"), "\\300\\257");           // too long a form
  EXPECT_EQ(to_postgres_text("\xc3"), "\\303");                    // cut off
}

TEST(PostgresText, EveryPairOfBytesComesBack) {
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) {
      const std::string bytes{static_cast<char>(a), static_cast<char>(b), '1', '2', '3'};
      EXPECT_EQ(from_postgres_text(to_postgres_text(bytes)), bytes);
      // What is plain before and after it is looked at eight bytes at a time.
      const std::string text = to_postgres_text(bytes.substr(0, 2));
      EXPECT_EQ(to_postgres_text("ascii, 15 bytes" + bytes.substr(0, 2) + " and more"),
                "ascii, 15 bytes" + text + " and more");
    }
  }
}

TEST(PostgresText, HeadersAreQuoted) {
  EXPECT_EQ(headers_literal({}), "{}");
  EXPECT_EQ(headers_literal({{"a", "x,y"}, {"b", "\"q\" \\ {}"}}),
            R"({"a","x,y","b","\"q\" \\\\ {}"})");
}

}  // namespace
}  // namespace oncekey::transaction
