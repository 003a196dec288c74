#include "identity/file_stamp.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>

namespace oncekey::identity {
namespace {

// Coarser than the clock of any file system in use.
constexpr DurationMs stamp_grain_ms = 2'000;

std::string failed(const std::string& path) {
  return path + ": " + std::strerror(errno);
}

FileStamp stamp_from(const struct stat& status) {
  return {
      static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
      static_cast<std::int64_t>(status.st_size),
      static_cast<std::int64_t>(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

// Closes what was opened.
struct OpenFile {
  int descriptor;
  ~OpenFile() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

}  // namespace

Result<FileStamp, std::string> stamp_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return failed(path);
  return stamp_from(status);
}

Result<StampedFile, std::string> read_stamped(const std::string& path) {
  const OpenFile file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  struct stat status {};
  if (file.descriptor < 0 || ::fstat(file.descriptor, &status) != 0) return failed(path);
  if (!S_ISREG(status.st_mode)) return path + ": is not a file";
  StampedFile read{stamp_from(status), {}};
  char buffer[16 << 10];
  for (;;) {
    const ssize_t count = ::read(file.descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path);
    if (count == 0) return read;
    read.bytes.append(buffer, static_cast<std::size_t>(count));
    if (read.bytes.size() > credential_file_bytes_max) return path + ": is larger than 4 MiB";
  }
}

bool may_change_unseen(const FileStamp& stamp, TimestampMs now) {
  return now - stamp.modified_ns / 1'000'000 < stamp_grain_ms;
}

}  // namespace oncekey::identity
