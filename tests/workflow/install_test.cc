// The installed library, used as a service would: from outside, with nothing of this tree.
#include <gtest/gtest.h>

#include <chrono>

#include "support/process.h"
#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

using namespace std::chrono_literals;

class InstalledLibrary : public testing::Test {
 protected:
  void SetUp() override {
    run({"cmake", "--install", ONCEKEY_BUILD_DIR, "--prefix", prefix_, "--component", "library"});
  }

  static std::vector<std::string> found_in_path(std::vector<std::string> words) {
    words.insert(words.begin(), "/usr/bin/env");
    return words;
  }
  void run(const std::vector<std::string>& words) {
    Process process(found_in_path(words));
    EXPECT_EQ(process.wait(200s), 0) << process.output();
  }
  // The first line that it prints.
  std::string answer(const std::vector<std::string>& words) {
    Process process(found_in_path(words));
    return process.wait_for_line([](const std::string&) { return true; }).value_or("nothing");
  }

  void expect_quickstart_works(const std::string& program) {
    const std::string file = path("orders.db");
    const std::string key = "0d2e7d0c-7b1e-4a55";
    EXPECT_EQ(answer({program, file, "shop", key, R"({"item":1})"}), "201 {\"id\":1}");
    EXPECT_EQ(answer({program, file, "shop", key, R"({ "item": 1 })"}),
              "201 {\"id\":1} (replayed)");
    EXPECT_EQ(answer({program, file, "shop", key, R"({"item":2})"}),
              "422 that key was another request");
    EXPECT_EQ(answer({program, file, "other", key, R"({"item":2})"}), "201 {\"id\":2}");
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }

  TemporaryFolder folder_;
  const std::string prefix_ = path("prefix");
  const std::string source_ = std::string(ONCEKEY_SOURCE_DIR) + "/examples/quickstart";
};

TEST_F(InstalledLibrary, IsFoundByCMake) {
  run({"cmake", "-S", source_, "-B", path("build"), "-DCMAKE_PREFIX_PATH=" + prefix_});
  run({"cmake", "--build", path("build")});
  expect_quickstart_works(path("build/quickstart"));
}

TEST_F(InstalledLibrary, IsFoundByPkgConfig) {
  run({"bash", "-c",
       "set -e; export PKG_CONFIG_PATH=$(dirname $(find " + prefix_ +
           " -name oncekey.pc)); g++ -std=c++20 " + source_ + "/main.cc -o " + path("quickstart") +
           " $(pkg-config --cflags --libs oncekey)"});
  expect_quickstart_works(path("quickstart"));
}

}  // namespace
}  // namespace oncekey::test
