// An HTTP/1.1 message as a test sees it, and an incremental reader of one. It is separate from the
// gateway's parser on purpose: a mistake there must not hide itself here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::test {

struct HttpMessage {
  std::string start_line;
  std::vector<Header> headers;
  std::vector<Header> trailers;
  std::string body;                 // as much as was kept
  std::uint64_t body_size = 0;      // all of it
  std::uint64_t body_checksum = 0;  // all of it

  std::optional<std::string_view> find(std::string_view name) const;  // the first of that name
  std::string header(std::string_view name) const;                    // "" when absent
  std::size_t count(std::string_view name) const;
  bool has_token(std::string_view name, std::string_view token) const;  // in a comma list
};

bool same_name(std::string_view a, std::string_view b);

// FNV-1a: tells two large bodies apart without keeping them.
std::uint64_t checksum(std::string_view bytes, std::uint64_t start = 14695981039346656037ULL);

class MessageReader {
 public:
  enum class Kind { request, response, response_to_head };
  static constexpr std::size_t keep_all = std::numeric_limits<std::size_t>::max();

  explicit MessageReader(Kind kind, std::size_t body_kept_max = keep_all)
      : kind_(kind), body_kept_max_(body_kept_max) {}

  // Takes what belongs to this message and returns how much that was; the rest is the next one's.
  std::size_t feed(std::string_view bytes);
  void end_of_stream();  // completes a body that only the end of the connection delimits

  bool head_done() const { return stage_ != Stage::start && stage_ != Stage::headers; }
  bool done() const { return stage_ == Stage::done; }
  bool broken() const { return stage_ == Stage::broken; }
  int status() const;  // 0 for a request
  const HttpMessage& message() const { return message_; }
  HttpMessage take() { return std::move(message_); }

 private:
  enum class Stage {
    start,
    headers,
    sized,
    chunk_size,
    chunk_data,
    chunk_end,
    trailers,
    to_end,
    done,
    broken
  };

  bool takes_lines() const;
  void line_done();
  void head_complete();
  void add_body(std::string_view bytes);
  static bool add_field(std::string_view line, std::vector<Header>& fields);

  Kind kind_;
  std::size_t body_kept_max_;
  Stage stage_ = Stage::start;
  std::string line_;
  std::uint64_t remaining_ = 0;
  HttpMessage message_;
};

}  // namespace oncekey::test
