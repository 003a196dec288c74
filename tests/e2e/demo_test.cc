// The demo's tour checks its own answers; here it must run, show them, and leave nothing behind.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <filesystem>

#include "support/gateway_process.h"
#include "support/process.h"
#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

class Demo : public ::testing::Test {
 protected:
  Demo() { ::setenv("TMPDIR", folder_.path().c_str(), 1); }  // where the demo makes its folder
  ~Demo() override { ::unsetenv("TMPDIR"); }

  bool left_nothing() const { return std::filesystem::is_empty(folder_.path()); }

  TemporaryFolder folder_;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(Demo, TourShowsEveryAnswerAndEndsWithZero) {
  Process demo({oncekey_binary(), "demo", "--once"});
  const int exit_code = demo.wait(Milliseconds(60'000)).value_or(-1);
  demo.wait_for_line([](const std::string&) { return false; });  // until both streams end
  const std::string output = demo.output();
  EXPECT_EQ(exit_code, 0) << output;
  for (const char* shown :
       {"HTTP/1.1 201 Created", "Idempotency-Replayed: true", "HTTP/1.1 409 Conflict",
        "Retry-After: ", "request_in_flight", "HTTP/1.1 422 ", "HTTP/1.1 400 ",
        "/.well-known/idempotency", "outcome_unknown", "HTTP/1.1 503 ", "\"attempt\":2",
        "✓ executed exactly once", "HTTP/1.1 202 Accepted", "✓ the service is dead",
        "✓ 201: healed, without anybody's help", "✓ the next worker took over",
        "✓ the provider's ledger has it exactly once", "✓ 12.50 + 9.00 + 7.00"}) {
    EXPECT_TRUE(contains(output, shown)) << shown << "\n" << output;
  }
  EXPECT_FALSE(contains(output, "✗")) << output;
  EXPECT_FALSE(contains(output, "\033[")) << "colours belong on a terminal";
  EXPECT_TRUE(left_nothing());
}

TEST_F(Demo, StaysUpUntilItIsInterrupted) {
  Process demo({oncekey_binary(), "demo"});
  ASSERT_TRUE(demo.wait_for_line([](const std::string& line) { return contains(line, "Ctrl-C"); },
                                 Milliseconds(60'000)))
      << demo.output();
  EXPECT_FALSE(left_nothing());
  demo.signal(SIGINT);
  EXPECT_EQ(demo.wait().value_or(-1), 0) << demo.output();
  EXPECT_TRUE(left_nothing());
}

TEST_F(Demo, NamedFolderIsKept) {
  const std::string data = (folder_.path() / "kept").string();
  for (int run = 0; run < 2; ++run) {
    Process demo({oncekey_binary(), "demo", "--once", "--data", data});
    EXPECT_EQ(demo.wait(Milliseconds(60'000)).value_or(-1), 0) << demo.output();
  }
  EXPECT_TRUE(std::filesystem::exists(data + "/store"));
}

TEST_F(Demo, WrongUsageEndsWithTwo) {
  Process demo({oncekey_binary(), "demo", "--twice"});
  EXPECT_EQ(demo.wait().value_or(-1), 2) << demo.output();
}

}  // namespace
}  // namespace oncekey::test
