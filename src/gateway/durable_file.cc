#include "gateway/durable_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "http/descriptor.h"

namespace oncekey::gateway {
namespace {

constexpr std::size_t small_file_max = 64 << 10;

FileError failed(const std::string& path) {
  const int code = errno;
  return {code, path + ": " + std::strerror(code)};
}

using http::Descriptor;

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

}  // namespace

Result<FileContent, FileError> read_small_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return failed(path);
  FileContent content;
  content.readable_by_others = (status.st_mode & (S_IRGRP | S_IROTH)) != 0;
  char buffer[4096];
  while (content.bytes.size() <= small_file_max) {
    const ssize_t count = ::read(file.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed(path);
    if (count == 0) return content;
    content.bytes.append(buffer, static_cast<std::size_t>(count));
  }
  errno = EFBIG;
  return failed(path);
}

Result<Created, FileError> create_durable_file(const std::string& folder, const std::string& name,
                                               std::string_view bytes) {
  const std::string path = folder + "/" + name;
  const std::string temporary = path + ".new." + std::to_string(::getpid());
  ::unlink(temporary.c_str());  // left by a crash of a process that had our id
  {
    const Descriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
    if (!file.is_open()) return failed(temporary);
    if (!write_all(file.get(), bytes) || ::fsync(file.get()) != 0) {
      const FileError error = failed(temporary);
      ::unlink(temporary.c_str());
      return error;
    }
  }
  // link() instead of rename(): of two starts at once, the second must not replace the first's.
  Created created = Created::now;
  if (::link(temporary.c_str(), path.c_str()) != 0) {
    const FileError error = failed(path);
    ::unlink(temporary.c_str());
    if (error.code != EEXIST) return error;
    created = Created::before;
  } else {
    ::unlink(temporary.c_str());
  }
  const Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.is_open() || ::fsync(directory.get()) != 0) return failed(folder);
  return created;
}

}  // namespace oncekey::gateway
