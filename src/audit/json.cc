#include <algorithm>
#include <set>

#include "audit/value.h"
#include "boundary/json_lexer.h"
#include "boundary/utf8.h"

namespace oncekey::audit {
namespace {

// Counts lines on the way; asked for places in rising order.
class Lines {
 public:
  explicit Lines(std::string_view text) : text_(text) {}

  Mark mark(std::size_t position) {
    for (; at_ < position; ++at_) {
      if (text_[at_] != '\n') continue;
      ++line_;
      start_ = at_ + 1;
    }
    return {line_, static_cast<int>(position - start_) + 1};
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t start_ = 0;
  int line_ = 1;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : lexer_(text, scratch_), lines_(text) {}

  Value whole() {
    Value root = value(0);
    if (!lexer_.at_end()) fail("the document goes on after its end");
    return root;
  }

 private:
  [[noreturn]] void fail(std::string message) { throw Problem{here(), std::move(message)}; }

  Mark here() {
    lexer_.peek();
    return lines_.mark(lexer_.position());
  }

  Value value(int depth) {
    if (depth > depth_max) {
      fail("values stand in one another more than " + std::to_string(depth_max) + " deep");
    }
    Value out;
    out.at = here();
    switch (lexer_.peek()) {
      case '{':
        out.kind = Value::Kind::object;
        object(out, depth);
        break;
      case '[':
        out.kind = Value::Kind::list;
        list(out, depth);
        break;
      case '"':
        out.kind = Value::Kind::scalar;
        out.text = string();
        break;
      default:
        bare(out);
    }
    return out;
  }

  void object(Value& out, int depth) {
    lexer_.take('{');
    if (lexer_.take('}')) return;
    std::set<std::string> names;
    do {
      const Mark at = here();
      if (lexer_.peek() != '"') fail("not valid JSON: a member's name in \"quotes\" was expected");
      std::string name = string();
      if (!names.insert(name).second) throw Problem{at, "\"" + name + "\" is there twice"};
      if (!lexer_.take(':')) fail("not valid JSON: a : was expected after \"" + name + "\"");
      out.members.push_back({std::move(name), value(depth + 1), at});
    } while (lexer_.take(','));
    if (!lexer_.take('}')) fail("not valid JSON: , or } was expected");
  }

  void list(Value& out, int depth) {
    lexer_.take('[');
    if (lexer_.take(']')) return;
    do {
      out.items.push_back(value(depth + 1));
    } while (lexer_.take(','));
    if (!lexer_.take(']')) fail("not valid JSON: , or ] was expected");
  }

  std::string string() {
    JsonLexer::String taken;
    const Mark at = here();
    if (!lexer_.take_string(taken)) {
      throw Problem{at, "not valid JSON: this string has no end, or a character it may not have"};
    }
    return std::string(taken.text);
  }

  void bare(Value& out) {
    if (lexer_.take_literal("null")) return;
    out.kind = Value::Kind::scalar;
    for (const char* word : {"true", "false"}) {
      if (!lexer_.take_literal(word)) continue;
      out.text = word;
      return;
    }
    std::string_view number;
    if (!lexer_.take_number(number)) fail("not valid JSON: a value was expected");
    out.text = number;
  }

  std::string scratch_;
  JsonLexer lexer_;
  Lines lines_;
};

}  // namespace

Result<Value, Problem> read_json(std::string_view text) {
  Lines lines(text);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = utf8_sequence_length(text.substr(at));
    if (size == 0) return Problem{lines.mark(at), "is not UTF-8 here"};
    at += size;
  }
  try {
    return Reader(text).whole();
  } catch (const Problem& problem) {
    return problem;
  }
}

}  // namespace oncekey::audit
