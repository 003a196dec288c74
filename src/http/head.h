// Request and response heads, parsed strictly: what two HTTP implementations could read in two ways
// is refused before anything is forwarded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/field.h"
#include "oncekey/result.h"

namespace oncekey::http {

struct HeadLimits {
  std::size_t bytes = 32 << 10;
  std::size_t fields = 100;
};

// Why a message was refused. `status` is what a server answers.
struct Refusal {
  int status = 400;
  std::string reason;
};

// Finds the end of a head in bytes that arrive piece by piece, looking at each byte once.
class HeadScanner {
 public:
  enum class Found { incomplete, complete, bad_line_end, too_large };

  // `data` starts at the same byte in every call and only grows.
  Found scan(std::string_view data, std::size_t bytes_max);
  std::size_t head_begin() const { return begin_; }  // after empty lines before the start line
  std::size_t head_end() const { return end_; }      // after the empty line
  void restart() { *this = HeadScanner(); }

 private:
  static constexpr int leading_empty_lines_max = 2;

  std::size_t position_ = 0;
  std::size_t line_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  int empty_lines_ = 0;
};

struct Head {
  Head() = default;
  Head(const Head&) = delete;  // the views below point into `text`
  Head& operator=(const Head&) = delete;

  std::string text;  // as received, from the start line to the empty line
  int minor_version = 1;
  std::vector<Field> fields;

  const Field* find(FieldId id) const;
  std::size_t count(FieldId id) const;
  // Whether a Connection field lists this option.
  bool connection_has(std::string_view option) const;
};

struct RequestHead : Head {
  std::string_view method;
  std::string_view target;  // origin-form, or authority for CONNECT, or "*"
  std::string_view path;    // target up to the query

  void clear();  // keeps its memory
  // `text` as found by HeadScanner. On success the head is filled anew.
  std::optional<Refusal> parse(std::string_view head_text, const HeadLimits& limits);
};

struct ResponseHead : Head {
  int status = 0;
  std::string_view reason;

  std::optional<Refusal> parse(std::string_view head_text, const HeadLimits& limits);
};

}  // namespace oncekey::http
