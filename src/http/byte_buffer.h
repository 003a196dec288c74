// Bytes read from a socket and not yet consumed, contiguous.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "oncekey/assert.h"

namespace oncekey::http {

class ByteBuffer {
 public:
  static constexpr std::size_t chunk_size = 16 << 10;

  std::string_view data() const { return {storage_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  bool has_memory() const { return capacity_ > 0; }

  // Room for at least `least` more bytes, to be filled from the front and then committed.
  std::span<char> prepare(std::size_t least = 1) {
    if (capacity_ - end_ < least) make_room(least);
    return {storage_.get() + end_, capacity_ - end_};
  }
  void commit(std::size_t bytes) {
    ONCEKEY_ASSERT(bytes <= capacity_ - end_);
    end_ += bytes;
  }
  void consume(std::size_t bytes) {
    ONCEKEY_ASSERT(bytes <= size());
    begin_ += bytes;
    if (begin_ == end_) begin_ = end_ = 0;
  }

  // An idle connection holds no memory.
  void release_if_empty() {
    if (!empty()) return;
    storage_.reset();
    capacity_ = begin_ = end_ = 0;
  }

 private:
  void make_room(std::size_t least) {
    std::size_t used = size();
    if (capacity_ - used >= least && begin_ > 0) {
      std::memmove(storage_.get(), storage_.get() + begin_, used);
    } else {
      std::size_t capacity = capacity_ == 0 ? chunk_size : capacity_ * 2;
      while (capacity - used < least) capacity *= 2;
      auto storage = std::make_unique_for_overwrite<char[]>(capacity);
      if (used > 0) std::memcpy(storage.get(), storage_.get() + begin_, used);
      storage_ = std::move(storage);
      capacity_ = capacity;
    }
    begin_ = 0;
    end_ = used;
  }

  std::unique_ptr<char[]> storage_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace oncekey::http
