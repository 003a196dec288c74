// What a caller sent with an operation, checked against the operation's own table: from the query
// of a GET, or from the JSON body of a POST. What the table does not name is an error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::admin {

enum class FieldKind {
  text,
  integer,
  boolean,
  choice,
  duration,  // "30s", "24h"
  instant,   // RFC 3339
  numbers,   // a list; in a query separated by commas
  strings,   // an object whose members are strings: headers
  object,    // JSON only
};

// One argument. The table also becomes the OpenAPI document.
struct Field {
  std::string_view name;
  FieldKind kind = FieldKind::text;
  std::string_view about;
  bool required = false;
  std::vector<std::string_view> choices = {};  // choice
  std::int64_t min = 0;                        // integer; texts: their length
  std::int64_t max = 0;                        // 0: none; numbers: how many
  std::vector<Field> members = {};             // object
};

class Arguments {
 public:
  using Strings = std::vector<Header>;
  using Value = std::variant<bool, std::int64_t, std::string, std::vector<std::int64_t>, Strings,
                             std::shared_ptr<Arguments>>;

  // The error says what is wrong and what is known.
  static Result<Arguments, std::string> from_query(std::string_view target,
                                                   const std::vector<Field>& fields);
  static Result<Arguments, std::string> from_json(std::string_view body,
                                                  const std::vector<Field>& fields);

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  // Absent: "" or `otherwise`.
  std::string text(std::string_view name) const;
  std::int64_t number(std::string_view name, std::int64_t otherwise) const;
  bool truth(std::string_view name) const;
  // A duration in milliseconds, an instant as a timestamp.
  std::optional<std::int64_t> time(std::string_view name) const;
  std::vector<std::int64_t> numbers(std::string_view name) const;
  Strings strings(std::string_view name) const;
  const Arguments* object(std::string_view name) const;  // null: absent

  void put(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }

 private:
  template <class T>
  const T* find(std::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace oncekey::admin
