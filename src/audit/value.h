// A document as a tree of values, each with the place where it stands.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::audit {

struct Mark {
  int line = 0;  // from 1; 0: the document as a whole
  int column = 0;
};

struct Member;

struct Value {
  enum class Kind { null, scalar, list, object };

  Kind kind = Kind::null;
  std::string text;  // of a scalar, as it was meant: without quotes and escapes
  std::vector<Value> items;
  std::vector<Member> members;  // in their order; no name twice
  Mark at;

  bool is_object() const { return kind == Kind::object; }
  const Value* find(std::string_view name) const;    // null: no such member, or no object
  std::string text_at(std::string_view name) const;  // "": no such scalar
  bool is_true_at(std::string_view name) const { return text_at(name) == "true"; }
};

struct Member {
  std::string name;
  Value value;
  Mark at;
};

// What is wrong with a document, and where.
struct Problem {
  Mark at;
  std::string message;
};
using Problems = std::vector<Problem>;
std::string to_string(const Problem& problem, const std::string& file);  // "api.yaml:3:7: …"

inline constexpr std::size_t document_size_max = 32 << 20;
inline constexpr int depth_max = 200;
inline constexpr std::size_t values_max = 2'000'000;  // YAML's aliases can make many out of few

// JSON when the text begins with {, YAML otherwise.
Result<Value, Problem> read_value(std::string_view text);
Result<Value, Problem> read_json(std::string_view text);
Result<Value, Problem> read_yaml(std::string_view text);

}  // namespace oncekey::audit
