#include "boundary/canonical_json.h"

#include <simdjson.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <vector>

#include "boundary/json_lexer.h"
#include "boundary/json_pointer.h"
#include "boundary/json_writer.h"
#include "boundary/reused_buffer.h"
#include "boundary/utf8.h"

namespace oncekey {
namespace {

constexpr char not_counted = '!';  // stands for a value that does not count; no JSON value looks so

// Where the reader is in relation to the rules.
struct Place {
  bool included = true;           // this value counts, unless excluded
  bool leads_to_include = false;  // something below it may count
  bool excluded = false;
  std::size_t depth = 0;
  std::size_t begin = 0;  // the pointers that go on below this place: a range of Workspace::active
  std::size_t end = 0;

  bool counts() const { return !excluded && (included || leads_to_include); }
};

// A member of an object that is being written. Both texts live in growing buffers: offsets.
struct Member {
  std::size_t name_begin, name_size;
  std::size_t begin, end;  // `"name":value` in the output; empty when it does not count
};

// Kept from call to call, so that a request of usual size allocates nothing.
struct Workspace {
  std::string unescaped;
  std::string names;
  std::string sorted;
  std::vector<Member> members;
  std::vector<std::uint32_t> active;
  PointerSet include;
  PointerSet exclude;

  void release_large() {
    release_if_large(unescaped);
    release_if_large(names);
    release_if_large(sorted);
    release_if_large(members);
  }
};

class Canonicalizer {
 public:
  Canonicalizer(std::string_view document, Workspace& workspace, std::string& out, NumberForm form)
      : lexer_(document, workspace.unescaped), work_(workspace), out_(out), form_(form) {
    work_.names.clear();
    work_.members.clear();
    work_.active.clear();
  }

  bool run(const FingerprintRules& rules) {
    if (!work_.include.assign(rules.include) || !work_.exclude.assign(rules.exclude)) return false;
    return counted_value(root()) && lexer_.at_end();
  }

 private:
  const std::vector<std::string_view>& tokens(std::uint32_t pointer) const {
    const std::size_t includes = work_.include.size();
    return pointer < includes ? work_.include.tokens(pointer)
                              : work_.exclude.tokens(pointer - includes);
  }

  // Adds a pointer whose tokens up to this place have all matched.
  void arrive(Place& place, std::uint32_t pointer) {
    const bool is_include = pointer < work_.include.size();
    if (tokens(pointer).size() == place.depth) {
      (is_include ? place.included : place.excluded) = true;
      return;
    }
    work_.active.push_back(pointer);
    place.end = work_.active.size();
    if (is_include) place.leads_to_include = true;
  }

  Place root() {
    Place place;
    place.included = work_.include.size() == 0;
    const auto count = static_cast<std::uint32_t>(work_.include.size() + work_.exclude.size());
    for (std::uint32_t pointer = 0; pointer < count; ++pointer) arrive(place, pointer);
    return place;
  }

  // The place one step below. leave() it when done.
  Place enter(const Place& parent, std::string_view token) {
    Place place;
    place.included = parent.included;
    place.depth = parent.depth + 1;
    place.begin = place.end = work_.active.size();
    for (std::size_t i = parent.begin; i < parent.end; ++i) {
      const std::uint32_t pointer = work_.active[i];
      if (tokens(pointer)[parent.depth] == token) arrive(place, pointer);
    }
    return place;
  }
  void leave(const Place& place) { work_.active.resize(place.begin); }

  Place enter_element(const Place& parent, std::size_t index) {
    if (parent.begin == parent.end) return enter(parent, {});
    char text[20];
    const auto end = std::to_chars(text, text + sizeof text, index).ptr;
    return enter(parent, std::string_view(text, end));
  }

  // A value, or the sign that there is one that does not count.
  bool counted_value(const Place& place) {
    const std::size_t start = out_.size();
    if (!value(place)) return false;
    if (!place.counts()) {
      out_.resize(start);
      out_.push_back(not_counted);
    }
    return true;
  }

  bool value(const Place& place) {
    const char c = lexer_.peek();
    if (c == '{') return object(place);
    if (c == '[') return array(place);
    const std::size_t start = out_.size();
    if (!scalar(c)) return false;
    if (!place.included) {
      out_.resize(start);
      out_.push_back(not_counted);
    }
    return true;
  }

  bool scalar(char c) {
    switch (c) {
      case '"':
        return string();
      case 't':
        return literal("true");
      case 'f':
        return literal("false");
      case 'n':
        return literal("null");
      default:
        break;
    }
    std::string_view token;
    return lexer_.take_number(token) && append_canonical_number(out_, token, form_);
  }

  bool literal(std::string_view word) {
    out_.append(word);
    return lexer_.take_literal(word);
  }

  bool string() {
    JsonLexer::String string;
    if (!lexer_.take_string(string)) return false;
    append_string(string.text, string.escaped);
    return true;
  }

  void append_string(std::string_view text, bool escaped) {
    if (escaped) {
      append_json_string(out_, text);
    } else {
      out_.push_back('"');
      out_.append(text);
      out_.push_back('"');
    }
  }

  bool array(const Place& place) {
    if (++depth_ > json_depth_max) return false;
    lexer_.take('[');
    out_.push_back('[');
    bool first = true;
    if (!lexer_.take(']')) {
      std::size_t index = 0;
      do {
        const Place element = enter_element(place, index);
        if (!array_element(place, element, index++, first)) return false;
        leave(element);
      } while (lexer_.take(','));
      if (!lexer_.take(']')) return false;
    }
    out_.push_back(']');
    --depth_;
    return true;
  }

  bool array_element(const Place& array, const Place& element, std::size_t index, bool& first) {
    const std::size_t start = out_.size();
    if (!first) out_.push_back(',');
    if (!array.included) {
      char text[20];
      out_.append(text, std::to_chars(text, text + sizeof text, index).ptr);
      out_.push_back(':');
    }
    if (!counted_value(element)) return false;
    if (!array.included && !element.counts()) {
      out_.resize(start);
    } else {
      first = false;
    }
    return true;
  }

  bool object(const Place& place) {
    if (++depth_ > json_depth_max) return false;
    const std::size_t start = out_.size();
    const std::size_t members_start = work_.members.size();
    const std::size_t names_start = work_.names.size();
    bool sorted = true;
    lexer_.take('{');
    out_.push_back('{');
    if (!lexer_.take('}')) {
      do {
        if (!member(place, start)) return false;
        const std::size_t count = work_.members.size();
        if (count - members_start > 1) {
          sorted = sorted && less(work_.members[count - 2], work_.members[count - 1]);
        }
      } while (lexer_.take(','));
      if (!lexer_.take('}')) return false;
    }
    if (!sorted && !sort_members(start, members_start)) return false;
    out_.push_back('}');
    work_.members.resize(members_start);
    work_.names.resize(names_start);
    --depth_;
    return true;
  }

  bool member(const Place& object, std::size_t object_start) {
    JsonLexer::String name;
    if (lexer_.peek() != '"' || !lexer_.take_string(name)) return false;
    Member member{work_.names.size(), name.text.size(), out_.size(), 0};
    work_.names.append(name.text);
    const Place place = enter(object, name.text);
    if (out_.size() > object_start + 1) out_.push_back(',');
    const std::size_t text_start = out_.size();
    append_string(name.text, name.escaped);
    out_.push_back(':');
    if (!lexer_.take(':') || !value(place)) return false;
    if (place.counts()) {
      member.begin = text_start;
    } else {
      out_.resize(member.begin);
    }
    member.end = out_.size();
    work_.members.push_back(member);
    leave(place);
    return true;
  }

  std::string_view name_of(const Member& member) const {
    return std::string_view(work_.names).substr(member.name_begin, member.name_size);
  }
  bool less(const Member& a, const Member& b) const { return utf16_less(name_of(a), name_of(b)); }

  // Rewrites the members behind the `{` at `start` in order. False: a name occurs twice.
  bool sort_members(std::size_t start, std::size_t members_start) {
    const auto first = work_.members.begin() + static_cast<std::ptrdiff_t>(members_start);
    const auto last = work_.members.end();
    std::sort(first, last, [this](const Member& a, const Member& b) { return less(a, b); });
    const auto twice = std::adjacent_find(
        first, last, [this](const Member& a, const Member& b) { return name_of(a) == name_of(b); });
    if (twice != last) return false;
    work_.sorted.clear();
    for (auto member = first; member != last; ++member) {
      if (member->begin == member->end) continue;
      if (!work_.sorted.empty()) work_.sorted.push_back(',');
      work_.sorted.append(out_, member->begin, member->end - member->begin);
    }
    out_.replace(start + 1, std::string::npos, work_.sorted);
    return true;
  }

  JsonLexer lexer_;
  Workspace& work_;
  std::string& out_;
  NumberForm form_;
  std::size_t depth_ = 0;
};

}  // namespace

bool canonicalize_json(std::string_view document, const FingerprintRules& rules, std::string& out,
                       NumberForm form) {
  thread_local Workspace workspace;
  out.clear();
  if (!simdjson::validate_utf8(document.data(), document.size())) return false;
  const bool done = Canonicalizer(document, workspace, out, form).run(rules);
  workspace.release_large();
  return done;
}

std::optional<std::string> canonical_json(std::string_view document, const FingerprintRules& rules,
                                          NumberForm form) {
  std::string out;
  if (!canonicalize_json(document, rules, out, form)) return std::nullopt;
  return out;
}

}  // namespace oncekey
