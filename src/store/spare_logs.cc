#include "store/spare_logs.h"

#include <algorithm>
#include <utility>

namespace oncekey::store {
namespace {

constexpr const char* spare_name = "/spare";
constexpr const char* unfinished_name = "/spare.unfinished";
constexpr std::size_t piece_bytes = 1 << 20;

bool is_log(const std::string& name) {
  return name.size() > 4 && name.compare(name.size() - 4, 4, ".log") == 0;
}

std::string folder_of(const std::string& name) {
  return name.substr(0, name.rfind('/'));
}

}  // namespace

SpareLogs::SpareLogs(const std::shared_ptr<rocksdb::FileSystem>& files, Preparation preparation,
                     std::size_t spare_bytes)
    : FileSystemWrapper(files), preparation_(preparation), spare_bytes_(spare_bytes) {
  if (preparation_ == Preparation::background) thread_ = std::thread([this] { run(); });
}

SpareLogs::~SpareLogs() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wanted_signal_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SpareLogs::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wanted_signal_.wait(lock, [this] { return stopping_ || !wanted_in_.empty(); });
    if (stopping_) return;
    const std::string folder = std::exchange(wanted_in_, {});
    lock.unlock();
    prepare(folder);
    lock.lock();
  }
}

void SpareLogs::prepare(const std::string& folder) {
  const std::string spare = folder + spare_name;
  const std::string unfinished = folder + unfinished_name;
  if (target()->FileExists(spare, rocksdb::IOOptions(), nullptr).ok()) return;
  // Renamed only when all of it is on disk: a file of that name has nothing but zeros.
  rocksdb::IOStatus status = write_spare(unfinished);
  if (status.ok()) status = target()->RenameFile(unfinished, spare, rocksdb::IOOptions(), nullptr);
  if (!status.ok()) {
    target()->DeleteFile(unfinished, rocksdb::IOOptions(), nullptr).PermitUncheckedError();
  }
}

rocksdb::IOStatus SpareLogs::write_spare(const std::string& path) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  rocksdb::IOStatus status =
      target()->NewWritableFile(path, rocksdb::FileOptions(), &file, nullptr);
  const std::string zeros(std::min(piece_bytes, spare_bytes_), '\0');
  for (std::size_t written = 0; status.ok() && written < spare_bytes_; written += zeros.size()) {
    status = file->Append(zeros, rocksdb::IOOptions(), nullptr);
  }
  if (status.ok()) status = file->Fsync(rocksdb::IOOptions(), nullptr);
  if (file == nullptr) return status;
  const rocksdb::IOStatus closed = file->Close(rocksdb::IOOptions(), nullptr);
  return status.ok() ? closed : status;
}

rocksdb::IOStatus SpareLogs::NewWritableFile(const std::string& name,
                                             const rocksdb::FileOptions& options,
                                             std::unique_ptr<rocksdb::FSWritableFile>* result,
                                             rocksdb::IODebugContext* context) {
  if (!is_log(name)) return FileSystemWrapper::NewWritableFile(name, options, result, context);
  const std::string folder = folder_of(name);
  const std::string spare = folder + spare_name;
  rocksdb::IOStatus status = rocksdb::IOStatus::NotFound();
  if (target()->FileExists(spare, rocksdb::IOOptions(), context).ok()) {
    status = target()->ReuseWritableFile(name, spare, options, result, context);
  }
  if (!status.ok()) status = FileSystemWrapper::NewWritableFile(name, options, result, context);
  if (preparation_ == Preparation::at_once) {
    prepare(folder);
  } else {
    std::lock_guard lock(mutex_);
    wanted_in_ = folder;
    wanted_signal_.notify_all();
  }
  return status;
}

}  // namespace oncekey::store
