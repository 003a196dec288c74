// Log files that are written full of zeros before they are used. A sync of a log that grows also
// writes the file's size and its new blocks; a sync of one that is overwritten writes only data,
// which takes about two thirds of the time. Readers of the log stop at the zeros.
#pragma once

#include <rocksdb/file_system.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

namespace oncekey::store {

class SpareLogs final : public rocksdb::FileSystemWrapper {
 public:
  // About what one log holds before the next is begun; the rest of a longer one grows as usual.
  static constexpr std::size_t spare_bytes_default = 16 << 20;

  enum class Preparation {
    background,  // by a thread, so that no writer waits for it
    at_once,     // for tests in which every write has its place
  };
  SpareLogs(const std::shared_ptr<rocksdb::FileSystem>& files, Preparation preparation,
            std::size_t spare_bytes = spare_bytes_default);
  ~SpareLogs() override;

  const char* Name() const override { return "SpareLogs"; }

  // Makes a spare in this folder unless there is one. Failing means only slower syncs.
  void prepare(const std::string& folder);

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* context) override;

 private:
  void run();
  rocksdb::IOStatus write_spare(const std::string& path);

  const Preparation preparation_;
  const std::size_t spare_bytes_;
  std::mutex mutex_;
  std::condition_variable wanted_signal_;
  std::string wanted_in_;  // the folder that needs a spare; "": none
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace oncekey::store
