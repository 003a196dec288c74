// Bytes on disk: base-128 numbers and length-prefixed strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace oncekey::store {

class ByteWriter {
 public:
  explicit ByteWriter(std::string& out) : out_(out) {}

  void byte(std::uint8_t value) { out_.push_back(static_cast<char>(value)); }
  void raw(std::string_view value) { out_.append(value); }
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) byte(static_cast<std::uint8_t>(value | 0x80));
    byte(static_cast<std::uint8_t>(value));
  }
  void text(std::string_view value) {
    number(value.size());
    raw(value);
  }

 private:
  std::string& out_;
};

// Reading past the end, or a number that is too long, makes ok() false for good; what is read from
// then on is empty.
class ByteReader {
 public:
  explicit ByteReader(std::string_view in) : in_(in) {}

  bool ok() const { return ok_; }
  bool at_end() const { return in_.empty(); }

  std::string_view raw(std::size_t size) {
    if (!ok_ || size > in_.size()) return fail();
    const std::string_view value = in_.substr(0, size);
    in_.remove_prefix(size);
    return value;
  }
  std::uint8_t byte() {
    const std::string_view one = raw(1);
    return one.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(one[0]);
  }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const std::uint8_t next = byte();
      value |= static_cast<std::uint64_t>(next & 0x7f) << shift;
      if (next < 0x80) return ok_ ? value : 0;
    }
    fail();
    return 0;
  }
  std::string_view text() { return raw(number()); }
  std::string_view rest() { return raw(in_.size()); }

 private:
  std::string_view fail() {
    ok_ = false;
    in_ = {};
    return {};
  }

  std::string_view in_;
  bool ok_ = true;
};

}  // namespace oncekey::store
