// JSON pointers (RFC 6901) in the two shapes a fingerprint needs: checked, and followed while a
// document is being read.
#pragma once

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace oncekey {

bool valid_json_pointer(std::string_view pointer);

// Several pointers, split into their unescaped tokens.
class PointerSet {
 public:
  // False: one of them is not a pointer, and the set is of no use. The strings must outlive it.
  bool assign(const std::vector<std::string>& pointers);

  std::size_t size() const { return pointers_.size(); }
  const std::vector<std::string_view>& tokens(std::size_t i) const { return pointers_[i]; }

 private:
  std::vector<std::vector<std::string_view>> pointers_;
  std::deque<std::string> unescaped_;  // a deque: growing must not move what views point to
};

}  // namespace oncekey
