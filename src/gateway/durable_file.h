// Small files that are either wholly there after a power cut, or not at all.
#pragma once

#include <string>
#include <string_view>

#include "oncekey/result.h"

namespace oncekey::gateway {

struct FileError {
  int code = 0;  // errno
  std::string message;
};

struct FileContent {
  std::string bytes;
  bool readable_by_others = false;  // group or other
};

Result<FileContent, FileError> read_small_file(const std::string& path);

enum class Created { now, before };

// Creates `folder`/`name` for the owner only and forces it and the folder to disk. A file of that
// name that is already there stays as it is.
Result<Created, FileError> create_durable_file(const std::string& folder, const std::string& name,
                                               std::string_view bytes);

}  // namespace oncekey::gateway
