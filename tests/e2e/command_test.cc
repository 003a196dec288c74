// The command line: what is wrong is said with its place, and the exit code tells which kind.
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

struct Ran {
  int exit_code = -1;
  std::string output;
};

Ran run(std::vector<std::string> words) {
  words.insert(words.begin(), oncekey_binary());
  Process process(words);
  Ran ran{.exit_code = process.wait().value_or(-1)};
  process.wait_for_line([](const std::string&) { return false; });  // until both streams end
  ran.output = process.output();
  return ran;
}

TEST(Command, WrongKeyInTheFileIsReportedWithItsPlace) {
  TemporaryFolder folder;
  std::string file =
      folder.write("bad.toml", "upstream = \"http://127.0.0.1:3000\"\nlisten_to = 1\n");
  for (const char* command : {"serve", "check"}) {
    Ran ran = run({command, "--config", file});
    EXPECT_EQ(ran.exit_code, 2) << command << ran.output;
    EXPECT_NE(ran.output.find("bad.toml:2:1"), std::string::npos) << command << ran.output;
  }
}

TEST(Command, CheckAcceptsAGoodFile) {
  TemporaryFolder folder;
  std::string file = folder.write(
      "good.toml",
      "upstream = \"http://127.0.0.1:3000\"\n[[route]]\nmatch = \"POST /payments/*\"\n");
  Ran ran = run({"check", "--config", file});
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
}

TEST(Command, BadUsageExitsWithTwo) {
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_EQ(run({"no-such-command"}).exit_code, 2);
  EXPECT_EQ(run({"serve", "--no-such-flag"}).exit_code, 2);
  EXPECT_EQ(run({"serve"}).exit_code, 2) << "an upstream is needed";
  EXPECT_EQ(run({"serve", "--to", "not a url"}).exit_code, 2);
}

TEST(Command, TakenPortIsReported) {
  std::uint16_t port = 0;
  Socket taken = listen_loopback(port);
  TemporaryFolder folder;
  std::string address = "127.0.0.1:" + std::to_string(port);
  Ran ran = run({"serve", "--to", "http://127.0.0.1:1", "--listen", address, "--admin",
                 "127.0.0.1:0", "--store", "rocksdb:" + folder.path().string()});
  EXPECT_GT(ran.exit_code, 0) << ran.output;
  EXPECT_NE(ran.output.find(std::to_string(port)), std::string::npos) << ran.output;
}

}  // namespace
}  // namespace oncekey::test
