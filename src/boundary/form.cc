#include "boundary/form.h"

#include <algorithm>
#include <vector>

#include "boundary/ascii.h"
#include "boundary/length_prefix.h"
#include "boundary/reused_buffer.h"

namespace oncekey {
namespace {

// Offsets into the buffer of decoded text, which moves as it grows.
struct Field {
  std::size_t name_begin, name_size, group_size;
  std::size_t value_begin, value_size;
  bool has_value;  // there was a `=`
};

struct Workspace {
  std::string text;
  std::vector<Field> fields;
};

bool append_decoded(std::string& out, std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+') {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      if (text.size() - i < 3) return false;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return false;
      out.push_back(static_cast<char>(high << 4 | low));
      i += 2;
    }
  }
  return true;
}

bool decode_field(std::string_view segment, Workspace& work) {
  const auto equals = segment.find('=');
  Field field{};
  field.has_value = equals != std::string_view::npos;
  field.name_begin = work.text.size();
  if (!append_decoded(work.text, segment.substr(0, equals))) return false;
  field.name_size = field.group_size = work.text.size() - field.name_begin;
  field.value_begin = work.text.size();
  if (field.has_value && !append_decoded(work.text, segment.substr(equals + 1))) return false;
  field.value_size = work.text.size() - field.value_begin;
  work.fields.push_back(field);
  return true;
}

std::string_view name_of(const Workspace& work, const Field& field) {
  return std::string_view(work.text).substr(field.name_begin, field.name_size);
}

void group_by_base_name(Workspace& work) {
  const bool has_lists = std::any_of(work.fields.begin(), work.fields.end(), [&](const Field& f) {
    return name_of(work, f).find("[]") != std::string_view::npos;
  });
  if (!has_lists) return;
  for (Field& field : work.fields) {
    field.group_size = std::min(name_of(work, field).find('['), field.name_size);
  }
}

}  // namespace

bool canonicalize_form(std::string_view body, std::string& out) {
  thread_local Workspace work;
  release_if_large(work.text);
  release_if_large(work.fields);
  work.text.clear();
  work.fields.clear();
  out.clear();
  for (std::size_t start = 0; start <= body.size();) {
    const std::size_t end = std::min(body.find('&', start), body.size());
    if (!decode_field(body.substr(start, end - start), work)) return false;
    start = end + 1;
  }
  group_by_base_name(work);
  const auto group_of = [&](const Field& field) {
    return std::string_view(work.text).substr(field.name_begin, field.group_size);
  };
  std::stable_sort(work.fields.begin(), work.fields.end(),
                   [&](const Field& a, const Field& b) { return group_of(a) < group_of(b); });
  for (const Field& field : work.fields) {
    append_length_prefixed(out, name_of(work, field));
    out.push_back(field.has_value ? '=' : '-');
    append_length_prefixed(out,
                           std::string_view(work.text).substr(field.value_begin, field.value_size));
  }
  return true;
}

std::optional<std::string> canonical_form(std::string_view body) {
  std::string out;
  if (!canonicalize_form(body, out)) return std::nullopt;
  return out;
}

}  // namespace oncekey
