// A JSON text that somebody else sent, asked by JSON pointer (RFC 6901).
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace oncekey {

class JsonDocument {
 public:
  // One that cannot be read has nothing at any pointer. The text is copied.
  explicit JsonDocument(std::string_view text);
  ~JsonDocument();

  bool valid() const;

  // A string's characters; a number, true or false as written. Nothing: absent, null, or a list or
  // an object.
  std::optional<std::string> text_at(std::string_view pointer) const;
  // Whatever stands there, as JSON without white space. Nothing: absent or null.
  std::optional<std::string> json_at(std::string_view pointer) const;
  // The number of elements; nothing: no list.
  std::optional<std::size_t> size_at(std::string_view pointer) const;

 private:
  struct Parsed;
  std::unique_ptr<Parsed> parsed_;
};

}  // namespace oncekey
