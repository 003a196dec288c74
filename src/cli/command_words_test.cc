#include "cli/command_words.h"

#include <gtest/gtest.h>

#include "admin/key_records.h"
#include "admin/reply.h"

namespace oncekey::cli {
namespace {

// Escapes of JSON do not matter here.
bool speaks_http(const std::string& text) {
  return text.find("/v1/") != text.npos || text.find("GET ") != text.npos;
}

TEST(CommandWords, AreSaidInPlaceOfRequests) {
  for (const admin::Reply& reply :
       {admin::no_such_key({"default", "k"}), admin::store_unavailable("connection refused")}) {
    EXPECT_TRUE(speaks_http(reply.body)) << reply.body;
    const std::string said = in_command_words(reply.body);
    EXPECT_FALSE(speaks_http(said)) << said;
    EXPECT_NE(said.find("oncekey "), said.npos) << said;
  }
}

TEST(CommandWords, LeaveOtherWordsAlone) {
  const std::string detail = "It is known already that it was executed.";
  EXPECT_EQ(in_command_words(detail), detail);
}

}  // namespace
}  // namespace oncekey::cli
