#include "cli/serve_options.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace oncekey::cli {
namespace {

class ServeOptionsTest : public testing::Test {
 protected:
  ServeOptionsTest()
      : file_(testing::TempDir() + "serve-options-" + std::to_string(::getpid()) + ".toml") {}
  ~ServeOptionsTest() override { std::remove(file_.c_str()); }

  Result<ServeOptions, int> parse(std::vector<const char*> arguments,
                                  std::vector<const char*> environment = {}) {
    arguments.insert(arguments.begin(), "serve");
    environment.push_back(nullptr);
    return parse_serve_options(static_cast<int>(arguments.size()), arguments.data(),
                               {environment.data(), out_, err_});
  }
  const char* write(std::string_view text) {
    std::ofstream(file_) << text;
    return file_.c_str();
  }

  std::string file_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(ServeOptionsTest, UpstreamIsAllThatIsNeeded) {
  auto options = parse({"--to", "http://127.0.0.1:3000"});
  ASSERT_TRUE(options.ok()) << err_.str();
  EXPECT_EQ(options->config.upstream, "http://127.0.0.1:3000");
  EXPECT_EQ(options->config.listen, "127.0.0.1:8080");
  EXPECT_EQ(options->config.routes.size(), 1u);
  EXPECT_TRUE(options->warnings.empty());
}

TEST_F(ServeOptionsTest, WithoutUpstreamItEndsWithTwo) {
  auto options = parse({});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error(), 2);
  EXPECT_EQ(err_.str(),
            "no upstream is set\n"
            "  hint: --to http://127.0.0.1:3000, or upstream = \"http://127.0.0.1:3000\"\n");
}

TEST_F(ServeOptionsTest, FlagsWinOverEnvironmentOverFile) {
  const char* file = write(
      "upstream = \"http://file:1\"\nlisten = \"file:1\"\nadmin = \"127.0.0.1:2\"\nthreads = 1\n");
  auto options = parse({"--config", file, "--listen", "flag:1"},
                       {"ONCEKEY_LISTEN=env:1", "ONCEKEY_ADMIN=127.0.0.1:3"});
  ASSERT_TRUE(options.ok()) << err_.str();
  EXPECT_EQ(options->config.listen, "flag:1");
  EXPECT_EQ(options->config.admin, "127.0.0.1:3");
  EXPECT_EQ(options->config.upstream, "http://file:1");
  EXPECT_EQ(options->config.threads, 1u);
  EXPECT_EQ(options->config_file, file);
}

TEST_F(ServeOptionsTest, EveryFlagIsRead) {
  auto options =
      parse({"--to=http://a:1", "--listen=b:2", "--admin=localhost:3",
             "--store=memory:", "--log-level=debug", "--log-format=text", "--threads=2"});
  ASSERT_TRUE(options.ok()) << err_.str();
  EXPECT_EQ(options->config.upstream, "http://a:1");
  EXPECT_EQ(options->config.listen, "b:2");
  EXPECT_EQ(options->config.admin, "localhost:3");
  EXPECT_EQ(options->config.store, "memory:");
  EXPECT_EQ(options->config.log_level, gateway::LogLevel::debug);
  EXPECT_EQ(options->config.log_format, gateway::LogFormat::text);
  EXPECT_EQ(options->config.threads, 2u);
  EXPECT_FALSE(options->warnings.empty());
}

TEST_F(ServeOptionsTest, MistakesOfAllSourcesAreReportedAtOnce) {
  const char* file = write("lisen = \"a:1\"\n");
  auto options = parse({"--config", file, "--to", "3000"}, {"ONCEKEY_THREADS=x"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error(), 2);
  EXPECT_EQ(err_.str(),
            "ONCEKEY_THREADS: threads: expected an integer, found a string\n"
            "--to: upstream: \"3000\" is not an upstream\n"
            "  hint: \"http://host:port\" or \"https://host:port\"\n" +
                file_ +
                ":1:1: unknown key \"lisen\"\n"
                "  hint: did you mean \"listen\"?\n");
}

TEST_F(ServeOptionsTest, UnknownFlagsAndLooseWordsEndWithTwo) {
  for (const char* word : {"--lissen", "extra", "--threads"}) {
    auto options = parse({"--to", "http://a:1", word});
    ASSERT_FALSE(options.ok()) << word;
    EXPECT_EQ(options.error(), 2) << word;
    EXPECT_NE(err_.str(), "") << word;
  }
}

TEST_F(ServeOptionsTest, MissingFileEndsWithTwo) {
  auto options = parse({"--config", "/nonexistent.toml", "--to", "http://a:1"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(err_.str(), "/nonexistent.toml: cannot be read: No such file or directory\n");
}

TEST_F(ServeOptionsTest, HelpEndsWithZero) {
  auto options = parse({"--help"});
  ASSERT_FALSE(options.ok());
  EXPECT_EQ(options.error(), 0);
  for (const char* flag : {"--config", "--to", "--threads"}) {
    EXPECT_NE(out_.str().find(flag), std::string::npos) << flag;
  }
  EXPECT_EQ(err_.str(), "");
}

}  // namespace
}  // namespace oncekey::cli
