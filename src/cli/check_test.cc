#include "cli/check.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <cstdio>
#include <fstream>
#include <sstream>

namespace oncekey::cli {
namespace {

class CheckTest : public testing::Test {
 protected:
  CheckTest() : file_(testing::TempDir() + "check-" + std::to_string(::getpid()) + ".toml") {}
  ~CheckTest() override { std::remove(file_.c_str()); }

  int check(std::string_view text, std::vector<const char*> arguments = {}) {
    std::ofstream(file_) << text;
    arguments.insert(arguments.begin(), {"check", "--config", file_.c_str()});
    const char* const environment[] = {nullptr};
    return run_check(static_cast<int>(arguments.size()), arguments.data(),
                     {environment, out_, err_});
  }

  std::string file_;
  std::ostringstream out_;
  std::ostringstream err_;
};

TEST_F(CheckTest, GoodConfigurationIsPrintedWithItsRoutes) {
  EXPECT_EQ(check("upstream = \"http://a:1\"\n[[route]]\nmatch = \"POST,PATCH *\"\n"), 0);
  EXPECT_NE(out_.str().find("\"http://a:1\""), std::string::npos) << out_.str();
  EXPECT_NE(out_.str().find("route 1  POST,PATCH *"), std::string::npos) << out_.str();
  EXPECT_EQ(out_.str().find("warning"), std::string::npos) << out_.str();
  EXPECT_EQ(err_.str(), "");
}

TEST_F(CheckTest, RiskySettingsAreWarnedAboutAndStillGood) {
  EXPECT_EQ(check("upstream = \"http://a:1\"\nstore = \"memory:\"\n"), 0);
  EXPECT_NE(out_.str().find("warning: " + file_ + ":2:9: store: keeps records in memory only"),
            std::string::npos)
      << out_.str();
}

TEST_F(CheckTest, WrongConfigurationEndsWithTwo) {
  EXPECT_EQ(check("upstream = 1\nadmn = \"a:1\"\n"), 2);
  EXPECT_EQ(err_.str(), file_ + ":1:12: upstream: expected a string, found an integer\n" + file_ +
                            ":2:1: unknown key \"admn\"\n  hint: did you mean \"admin\"?\n");
  EXPECT_EQ(out_.str(), "");
}

TEST_F(CheckTest, FilesOfKeysAreLookedAt) {
  const std::string keys = file_ + ".keys";
  const std::string text =
      "upstream = \"http://a:1\"\n[tenant]\nfrom = \"jwt\"\naudience = \"a\"\nkeys = \"" + keys +
      "\"\n";
  EXPECT_EQ(check(text), 2);
  EXPECT_EQ(err_.str(), "tenant.keys: " + keys + ": No such file or directory\n");
  std::ofstream(keys) << "{\"kty\":\"oct\",\"k\":\"" << std::string(44, 'a') << "\"}";
  EXPECT_EQ(check(text), 0);
  std::remove(keys.c_str());
}

TEST_F(CheckTest, JsonTellsTheSame) {
  EXPECT_EQ(check("store = \"memory:\"\n[[route]]\nmatch = \"POST /a\"\nretention = \"2h\"\n",
                  {"--json"}),
            0);
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  const std::string good = out_.str();
  ASSERT_EQ(parser.parse(good).get(root), simdjson::SUCCESS) << good;
  EXPECT_TRUE(bool(root["valid"]));
  EXPECT_EQ(std::string_view(root.at_pointer("/config/route/0/retention")), "2h");
  EXPECT_EQ(std::int64_t(root.at_pointer("/config/route/0/status/mismatch")), 422);
  EXPECT_GE(root["warnings"].get_array().value().size(), 2u);
  out_.str("");
  EXPECT_EQ(check("store = 1\n", {"--json"}), 2);
  const std::string bad = out_.str();
  ASSERT_EQ(parser.parse(bad).get(root), simdjson::SUCCESS) << bad;
  EXPECT_FALSE(bool(root["valid"]));
  EXPECT_EQ(std::int64_t(root.at_pointer("/errors/0/line")), 1);
  EXPECT_EQ(std::int64_t(root.at_pointer("/errors/0/column")), 9);
}

TEST_F(CheckTest, WrongUsageEndsWithTwo) {
  EXPECT_EQ(check("", {"--nonsense"}), 2);
  EXPECT_NE(err_.str(), "");
  EXPECT_EQ(check("", {"--help"}), 0);
}

}  // namespace
}  // namespace oncekey::cli
