#include "identity/watched_file.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <vector>

#include "support/temporary_folder.h"

namespace oncekey::identity {
namespace {

struct Words {
  std::string text;
};

class Watched : public testing::Test {
 protected:
  Watched() { write("one"); }

  void write(std::string_view bytes) { std::ofstream(path) << bytes; }
  void replace(std::string_view bytes) {
    std::ofstream(path + ".new") << bytes;
    ASSERT_EQ(std::rename((path + ".new").c_str(), path.c_str()), 0);
  }
  WatchedFile<Words> watch() {
    const auto read = [](std::string_view bytes) -> Result<Words, std::string> {
      if (bytes == "bad") return std::string("is bad");
      return Words{std::string(bytes)};
    };
    return {path, read, [this](const FileNews& news) { reports.push_back(news.problem); }, now};
  }
  std::string later(WatchedFile<Words>& file) {
    now += file_look_every_ms;
    return file.current(now)->text;
  }

  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "keys";
  TimestampMs now = 4'000'000'000'000;  // long after the file's own times
  std::vector<std::string> reports;
};

TEST_F(Watched, NewContentIsInForceWithinASecond) {
  auto file = watch();
  EXPECT_EQ(file.current(now)->text, "one");
  replace("two");
  EXPECT_EQ(file.current(now + file_look_every_ms - 1)->text, "one");
  EXPECT_EQ(later(file), "two");
  write("three!");
  EXPECT_EQ(later(file), "three!");
  EXPECT_EQ(reports, (std::vector<std::string>{"", ""}));
}

TEST_F(Watched, BadFileKeepsTheOldContentAndIsReportedOnce) {
  auto file = watch();
  const auto before = file.current(now);
  replace("bad");
  EXPECT_EQ(later(file), "one");
  EXPECT_EQ(later(file), "one");
  EXPECT_EQ(file.current(now), before);
  std::remove(path.c_str());
  EXPECT_EQ(later(file), "one");
  EXPECT_EQ(later(file), "one");
  replace("two");
  EXPECT_EQ(later(file), "two");
  ASSERT_EQ(reports.size(), 3u);
  EXPECT_EQ(reports[0], path + ": is bad");
  EXPECT_EQ(reports[1], path + ": No such file or directory");
  EXPECT_EQ(reports[2], "");
}

TEST_F(Watched, TouchedFileIsTheSameContent) {
  auto file = watch();
  const auto before = file.current(now);
  replace("one");
  EXPECT_EQ(later(file), "one");
  EXPECT_EQ(file.current(now), before);
  EXPECT_TRUE(reports.empty());
}

// Written twice within one tick of the file system's clock: the stamp is the same both times.
TEST_F(Watched, FreshFileIsReadAgain) {
  now = stamp_of(path)->modified_ns / 1'000'000;
  auto file = watch();
  const FileStamp stamp = *stamp_of(path);
  write("two");
  const timespec times[2] = {
      {stamp.modified_ns / 1'000'000'000, stamp.modified_ns % 1'000'000'000},
      {stamp.modified_ns / 1'000'000'000, stamp.modified_ns % 1'000'000'000}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  ASSERT_EQ(*stamp_of(path), stamp);
  EXPECT_EQ(later(file), "two");
}

TEST_F(Watched, ClockSetBackDoesNotStopTheWatch) {
  auto file = watch();
  replace("two");
  now -= 1'000'000;
  EXPECT_EQ(file.current(now)->text, "two");
}

TEST_F(Watched, UnusableFileIsAnErrorAtTheStart) {
  write("bad");
  EXPECT_THROW(watch(), std::runtime_error);
  std::remove(path.c_str());
  EXPECT_THROW(watch(), std::runtime_error);
  EXPECT_FALSE(read_stamped(folder.path().string()));
}

}  // namespace
}  // namespace oncekey::identity
