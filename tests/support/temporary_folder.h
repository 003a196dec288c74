// A folder that is gone when the test is.
#pragma once

#include <filesystem>
#include <string>

namespace oncekey::test {

class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& content) const;  // its path

 private:
  std::filesystem::path path_;
};

}  // namespace oncekey::test
