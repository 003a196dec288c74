// Where the demo keeps its store: a folder that the user named, or one that is gone afterwards.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace oncekey::cli {

class DemoFolder {
 public:
  // "": a new temporary one. Throws std::runtime_error or std::filesystem::filesystem_error.
  explicit DemoFolder(const std::string& named) : path_(named), temporary_(named.empty()) {
    if (!temporary_) {
      std::filesystem::create_directories(path_);
      return;
    }
    path_ = (std::filesystem::temp_directory_path() / "oncekey-demo-XXXXXX").string();
    if (::mkdtemp(path_.data()) == nullptr) throw std::runtime_error("cannot make " + path_);
  }
  ~DemoFolder() { remove_if_temporary(); }
  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;

  const std::string& path() const { return path_; }
  bool temporary() const { return temporary_; }
  void remove_if_temporary() {
    std::error_code ignored;
    if (temporary_) std::filesystem::remove_all(path_, ignored);
  }

 private:
  std::string path_;
  bool temporary_;
};

}  // namespace oncekey::cli
