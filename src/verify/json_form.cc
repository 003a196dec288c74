#include "verify/json_form.h"

#include <simdjson.h>

#include <cstdio>
#include <utility>
#include <vector>

#include "boundary/json_writer.h"

namespace oncekey::verify {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

class Rewriter {
 public:
  explicit Rewriter(JsonForm form) : form_(form) {}

  void write(element value) {
    switch (value.type()) {
      case element_type::ARRAY:
        return write_array(value);
      case element_type::OBJECT:
        return write_object(value);
      case element_type::STRING:
        return write_string(value);
      case element_type::INT64:
      case element_type::UINT64:
        out += simdjson::minify(value);
        if (form_ == JsonForm::numbers) out += ".0";
        return;
      case element_type::DOUBLE:
        return write_double(value);
      case element_type::BOOL:
      case element_type::NULL_VALUE:
        out += simdjson::minify(value);
        return;
    }
  }

  std::string out;

 private:
  void space() {
    if (form_ == JsonForm::spaced) out += " \n\t";
  }

  void write_array(element value) {
    out += '[';
    bool first = true;
    for (const element item : simdjson::dom::array(value)) {
      if (!std::exchange(first, false)) out += ',';
      space();
      write(item);
      space();
    }
    out += ']';
  }

  void write_object(element value) {
    std::vector<std::pair<std::string_view, element>> members;
    for (const auto member : simdjson::dom::object(value)) {
      members.emplace_back(member.key, member.value);
    }
    if (form_ == JsonForm::reordered) {
      members = std::vector(members.rbegin(), members.rend());
    }
    out += '{';
    bool first = true;
    for (const auto& [name, item] : members) {
      if (!std::exchange(first, false)) out += ',';
      space();
      append_json_string(out, name);
      space();
      out += ':';
      space();
      write(item);
      space();
    }
    out += '}';
  }

  void write_string(element value) {
    const std::string_view text(value);
    const bool letter = !text.empty() && text[0] > 0x20 && text[0] < 0x7f;
    if (form_ != JsonForm::escaped || !letter) return append_json_string(out, text);
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(text[0]));
    std::string rest;
    append_json_string(rest, text.substr(1));
    out += std::string("\"") + escape + rest.substr(1);
  }

  void write_double(element value) {
    if (form_ != JsonForm::numbers) {
      out += simdjson::minify(value);
      return;
    }
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17e", double(value));
    out += digits;
  }

  JsonForm form_;
};

}  // namespace

std::optional<std::string> rewritten(std::string_view json, JsonForm form) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(json.data(), json.size()).get(root) != simdjson::SUCCESS) return std::nullopt;
  Rewriter rewriter(form);
  rewriter.write(root);
  // White space is a difference only to the bytes that were given.
  const std::string plain = form == JsonForm::spaced ? std::string(json) : simdjson::minify(root);
  if (rewriter.out == plain) return std::nullopt;
  return std::move(rewriter.out);
}

std::optional<std::string> with_member(std::string_view json, std::string_view name,
                                       std::string_view value) {
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (parser.parse(json.data(), json.size()).get_object().get(root) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  std::string out(json.substr(0, json.rfind('}')));
  if (root.size() > 0) out += ',';
  append_json_string(out, name);
  return out + ":" + std::string(value) + "}";
}

}  // namespace oncekey::verify
