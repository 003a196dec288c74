// What tells whether a file has changed, and its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::identity {

inline constexpr std::size_t credential_file_bytes_max = 4 << 20;

struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t size = 0;
  std::int64_t modified_ns = 0;

  bool operator==(const FileStamp&) const = default;
};

struct StampedFile {
  FileStamp stamp;
  std::string bytes;
};

// The error is a sentence with the path.
Result<FileStamp, std::string> stamp_of(const std::string& path);
Result<StampedFile, std::string> read_stamped(const std::string& path);

// A file written a moment before it was read may be written again without another stamp.
bool may_change_unseen(const FileStamp& stamp, TimestampMs now);

}  // namespace oncekey::identity
