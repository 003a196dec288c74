// Real files that fail on request: the disk is full, or a write or sync returns an I/O error.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "fault_story.h"
#include "store/spare_logs.h"

namespace oncekey::store {

// Counts the appends or syncs of all files, and fails the one with the armed number; `lasting`:
// and all later ones, until heal().
class FaultyFiles : public rocksdb::FileSystemWrapper {
 public:
  FaultyFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultyFiles"; }

  void arm(Fault fault, int step, bool lasting) {
    std::lock_guard lock(mutex_);
    fault_ = fault;
    steps_left_ = step;
    lasting_ = lasting;
    fired_ = false;
  }
  void heal() {
    std::lock_guard lock(mutex_);
    steps_left_ = 0;
    lasting_ = false;
  }
  bool fired() {
    std::lock_guard lock(mutex_);
    return fired_;
  }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* context) override;

 private:
  friend class FaultyFile;

  bool fails(bool is_sync) {
    std::lock_guard lock(mutex_);
    if (is_sync != (fault_ == Fault::broken_sync)) return false;
    if (steps_left_ > 0 && --steps_left_ == 0) {
      fired_ = true;
      return true;
    }
    return steps_left_ == 0 && fired_ && lasting_;
  }

  std::mutex mutex_;
  Fault fault_ = Fault::full_disk;
  int steps_left_ = 0;
  bool lasting_ = false;
  bool fired_ = false;
};

class FaultyFile : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<rocksdb::FSWritableFile>&& file, FaultyFiles& files)
      : FSWritableFileOwnerWrapper(std::move(file)), files_(files) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    if (!files_.fails(false)) {
      return FSWritableFileOwnerWrapper::Append(data, options, context);
    }
    if (files_.fault_ == Fault::broken_write) return rocksdb::IOStatus::IOError("injected");
    const rocksdb::Slice part(data.data(), data.size() / 2);
    FSWritableFileOwnerWrapper::Append(part, options, context).PermitUncheckedError();
    return rocksdb::IOStatus::NoSpace("injected");
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo&,
                           rocksdb::IODebugContext* context) override {
    return Append(data, options, context);
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* context) override {
    if (files_.fails(true)) return rocksdb::IOStatus::IOError("injected");
    return FSWritableFileOwnerWrapper::Sync(options, context);
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* context) override {
    if (files_.fails(true)) return rocksdb::IOStatus::IOError("injected");
    return FSWritableFileOwnerWrapper::Fsync(options, context);
  }

 private:
  FaultyFiles& files_;
};

inline rocksdb::IOStatus FaultyFiles::NewWritableFile(
    const std::string& name, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* result, rocksdb::IODebugContext* context) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const rocksdb::IOStatus status =
      FileSystemWrapper::NewWritableFile(name, options, &file, context);
  if (status.ok()) *result = std::make_unique<FaultyFile>(std::move(file), *this);
  return status;
}

inline rocksdb::IOStatus FaultyFiles::ReuseWritableFile(
    const std::string& name, const std::string& old_name, const rocksdb::FileOptions& options,
    std::unique_ptr<rocksdb::FSWritableFile>* result, rocksdb::IODebugContext* context) {
  std::unique_ptr<rocksdb::FSWritableFile> file;
  const rocksdb::IOStatus status =
      FileSystemWrapper::ReuseWritableFile(name, old_name, options, &file, context);
  if (status.ok()) *result = std::make_unique<FaultyFile>(std::move(file), *this);
  return status;
}

// RocksDB sleeps a second after each error in the background; the tests do not.
class ImpatientClock : public rocksdb::SystemClockWrapper {
 public:
  ImpatientClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "ImpatientClock"; }
  void SleepForMicroseconds(int) override {}
};

class FaultyEnv : public rocksdb::EnvWrapper {
 public:
  explicit FaultyEnv(const std::shared_ptr<FaultyFiles>& files) : FaultyEnv(make(files)) {}

 private:
  explicit FaultyEnv(std::unique_ptr<rocksdb::Env>&& env)
      : EnvWrapper(env.get()), env_(std::move(env)) {
    system_clock_ = std::make_shared<ImpatientClock>();
  }
  static std::unique_ptr<rocksdb::Env> make(const std::shared_ptr<FaultyFiles>& files) {
    return rocksdb::NewCompositeEnv(
        std::make_shared<SpareLogs>(files, SpareLogs::Preparation::at_once, 64 << 10));
  }

  std::unique_ptr<rocksdb::Env> env_;
};

}  // namespace oncekey::store
