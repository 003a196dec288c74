// Appends JSON to a string. Cheap enough for a log line per request: it allocates nothing but the
// target's own growth.
//
//   JsonWriter w(out);
//   w.begin_object();
//   w.member("status", 201);
//   w.key("tags");
//   w.begin_array();
//   w.value("a");
//   w.end_array();
//   w.end_object();
//
// The caller keeps begin and end in pairs and gives each member one key and one value; commas are
// the writer's. Whatever bytes a string holds, the output is valid UTF-8 and valid JSON.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace oncekey {

// Appends `text` in double quotes. Each byte that is not part of well-formed UTF-8 becomes U+FFFD.
void append_json_string(std::string& out, std::string_view text);

class JsonWriter {
 public:
  // Writes behind what `out` already holds. `out` must outlive the writer.
  explicit JsonWriter(std::string& out) : out_(out), start_(out.size()) {}

  void begin_object() { open('{'); }
  void end_object() { out_.push_back('}'); }
  void begin_array() { open('['); }
  void end_array() { out_.push_back(']'); }

  void key(std::string_view name) {
    separate();
    append_json_string(out_, name);
    out_.push_back(':');
  }

  void value(std::string_view text) {
    separate();
    append_json_string(out_, text);
  }
  void value(const char* text) { value(std::string_view(text)); }
  void value(const std::string& text) { value(std::string_view(text)); }
  void value(bool truth) { raw(truth ? "true" : "false"); }
  void value(std::nullptr_t) { raw("null"); }
  void value(double number);  // shortest form that reads back the same; null for NaN and infinity
  template <std::signed_integral T>
  void value(T number) {
    signed_value(number);
  }
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) void value(T number) { unsigned_value(number); }

  // `json` must be one complete JSON value.
  void raw(std::string_view json) {
    separate();
    out_.append(json);
  }

  template <class T>
  void member(std::string_view name, const T& v) {
    key(name);
    value(v);
  }

 private:
  // A comma is due after anything but an opening bracket, a colon, or nothing.
  void separate() {
    if (out_.size() == start_) return;
    const char last = out_.back();
    if (last != '{' && last != '[' && last != ':') out_.push_back(',');
  }
  void open(char bracket) {
    separate();
    out_.push_back(bracket);
  }
  void signed_value(long long number);
  void unsigned_value(unsigned long long number);

  std::string& out_;
  std::size_t start_;
};

}  // namespace oncekey
