// A file of keys that may be replaced while it is in use. Readers ask for its content when they
// like; the file itself is looked at once a second at most. A new file that cannot be used changes
// nothing but the log.
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

#include "identity/file_stamp.h"
#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::identity {

inline constexpr DurationMs file_look_every_ms = 1'000;

struct FileNews {
  std::string_view path;
  std::string problem;  // "": the new content is in force
};

template <class Content>
class WatchedFile {
 public:
  // What the bytes mean, or what is wrong with them.
  using Read = std::function<Result<Content, std::string>(std::string_view bytes)>;
  using Report = std::function<void(const FileNews& news)>;

  // Throws std::runtime_error, with a sentence for operators, when the file cannot be used.
  WatchedFile(std::string path, Read read, Report report, TimestampMs now)
      : path_(std::move(path)),
        read_(std::move(read)),
        report_(std::move(report)),
        looked_at_(now) {
    const std::string problem = take(now);
    if (!problem.empty()) throw std::runtime_error(problem);
  }

  // Any thread. Another pointer than before: the content has changed.
  std::shared_ptr<const Content> current(TimestampMs now) {
    const std::lock_guard lock(mutex_);
    // The clock may have been set back.
    if (std::abs(now - looked_at_) >= file_look_every_ms) look(now);
    return content_;
  }

 private:
  void look(TimestampMs now) {
    looked_at_ = now;
    const Result<FileStamp, std::string> stamp = stamp_of(path_);
    if (stamp && *stamp == stamp_ && !unsettled_) return;
    const std::shared_ptr<const Content> before = content_;
    const std::string problem = take(now);
    if (problem != problem_ || content_ != before) report_({path_, problem});
    problem_ = problem;
  }

  // What is wrong with the file as it is now; "": its content is in force.
  std::string take(TimestampMs now) {
    const Result<StampedFile, std::string> file = read_stamped(path_);
    if (!file) return file.error();
    stamp_ = file->stamp;
    unsettled_ = may_change_unseen(stamp_, now);
    if (content_ && file->bytes == bytes_) return {};
    Result<Content, std::string> content = read_(file->bytes);
    if (!content) return path_ + ": " + content.error();
    bytes_ = file->bytes;
    content_ = std::make_shared<const Content>(std::move(*content));
    return {};
  }

  const std::string path_;
  const Read read_;
  const Report report_;
  std::mutex mutex_;
  TimestampMs looked_at_;
  FileStamp stamp_;
  bool unsettled_ = false;
  std::string bytes_;    // of the content in force
  std::string problem_;  // of the file as it was last looked at
  std::shared_ptr<const Content> content_;
};

}  // namespace oncekey::identity
