// Test cases that others wrote are not part of this project; tests that use them skip without.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace oncekey::vectors {

inline std::filesystem::path folder(const std::string& name) {
  const char* chosen = std::getenv("ONCEKEY_VECTORS");
  const std::filesystem::path root =
      chosen != nullptr ? std::filesystem::path(chosen)
                        : std::filesystem::path(ONCEKEY_SOURCE_DIR) / ".." / "shared" / "vectors";
  return root / name;
}

inline std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << "cannot read " << path;
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

inline std::vector<std::filesystem::path> files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.is_regular_file()) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace oncekey::vectors

#define ONCEKEY_SKIP_WITHOUT(folder)                                                        \
  if (!std::filesystem::is_directory(folder)) {                                             \
    GTEST_SKIP() << "no test vectors in " << (folder) << "; set ONCEKEY_VECTORS to a copy"; \
  }                                                                                         \
  static_assert(true)
