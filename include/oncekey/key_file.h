// Keys of operations that have not come to their end, in a small file: what a client reads after a
// restart to go on under the same key. Every change is on disk before the call returns, a power cut
// leaves the old file or the new one, and several processes may share it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey {

class KeyFile {
 public:
  static constexpr std::size_t entries_max = 10'000;
  static constexpr std::size_t name_length_max = 1'000;

  struct Entry {
    std::string name;
    std::string key;
    TimestampMs created_at = 0;
    TimestampMs expires_at = 0;  // as the server said; 0: it has not
  };
  struct Taken {
    Entry entry;
    bool was_there = false;  // so an earlier attempt may have been made
  };
  // A sentence that names the file. A damaged file is an error, never an empty one: a key that is
  // lost here is an operation that may run twice.
  template <class T>
  using Answer = Result<T, std::string>;

  // The file is made when it is first needed; its folder must exist. Beside it, PATH.lock.
  explicit KeyFile(std::string path) : path_(std::move(path)) {}

  // The entry of this name; when there is none, one with `key_if_new` is kept.
  Answer<Taken> take(std::string_view name, std::string_view key_if_new, TimestampMs now);
  // Both do nothing when the name has another key, or none, by now.
  Answer<std::monostate> set_expiry(std::string_view name, std::string_view key,
                                    TimestampMs expires_at);
  Answer<std::monostate> remove(std::string_view name, std::string_view key);

  Answer<std::vector<Entry>> list() const;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace oncekey
