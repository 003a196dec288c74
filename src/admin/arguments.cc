#include "admin/arguments.h"

#include <simdjson.h>

#include <charconv>

#include "admin/query.h"
#include "gateway/config_units.h"
#include "recovery/instant.h"

namespace oncekey::admin {
namespace {

using Value = Arguments::Value;
using simdjson::dom::element;
using simdjson::dom::element_type;

std::string in_quotes(std::string_view text) {
  return "\"" + std::string(text) + "\"";
}

std::string names_of(const std::vector<Field>& fields) {
  std::string names;
  for (const Field& field : fields) {
    names.append(names.empty() ? "" : ", ").append(field.name);
  }
  return names.empty() ? "none" : names;
}

const Field* field_named(std::string_view name, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

std::string wrong(const Field& field, std::string_view expected) {
  return std::string(field.name).append(" must be ").append(expected);
}

std::string range_of(const Field& field) {
  return "a whole number from " + std::to_string(field.min) + " to " + std::to_string(field.max);
}

Result<Value, std::string> number_value(const Field& field, std::int64_t number) {
  if (number < field.min || (field.max > 0 && number > field.max)) {
    return wrong(field, range_of(field));
  }
  return Value(number);
}

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<Value, std::string> text_value(const Field& field, std::string_view text) {
  const auto size = static_cast<std::int64_t>(text.size());
  if (field.max > 0 && size > field.max) {
    return wrong(field, "at most " + std::to_string(field.max) + " bytes long");
  }
  if (field.required && text.empty()) return wrong(field, "more than an empty text");
  return Value(std::string(text));
}

// The kinds that are text in JSON, too.
Result<Value, std::string> value_of_text(const Field& field, std::string_view text) {
  if (field.kind == FieldKind::choice) {
    std::string all;
    for (const std::string_view choice : field.choices) {
      if (choice == text) return Value(std::string(text));
      all.append(all.empty() ? "" : ", ").append(choice);
    }
    return wrong(field, "one of " + all + ", not " + in_quotes(text));
  }
  if (field.kind == FieldKind::duration) {
    const auto duration = gateway::parse_duration(text);
    if (!duration) return wrong(field, "a duration such as \"30s\" or \"24h\"");
    return Value(static_cast<std::int64_t>(*duration));
  }
  if (field.kind == FieldKind::instant) {
    const auto instant = recovery::parse_instant(text);
    if (!instant) return wrong(field, "a time such as \"2026-03-01T12:00:00Z\"");
    return Value(static_cast<std::int64_t>(*instant));
  }
  return text_value(field, text);
}

Result<Value, std::string> query_numbers(const Field& field, std::string_view text) {
  std::vector<std::int64_t> numbers;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto number = parse_integer(text.substr(0, comma));
    if (!number) return wrong(field, "whole numbers, separated by commas");
    numbers.push_back(*number);
    text = comma == text.npos ? std::string_view() : text.substr(comma + 1);
  }
  return Value(std::move(numbers));
}

Result<Value, std::string> query_value(const Field& field, std::string_view text) {
  switch (field.kind) {
    case FieldKind::integer: {
      const auto number = parse_integer(text);
      if (!number) return wrong(field, range_of(field));
      return number_value(field, *number);
    }
    case FieldKind::boolean:
      if (text == "1" || text == "true") return Value(true);
      if (text == "0" || text == "false") return Value(false);
      return wrong(field, "1 or 0");
    case FieldKind::numbers:
      return query_numbers(field, text);
    case FieldKind::text:
    case FieldKind::choice:
    case FieldKind::duration:
    case FieldKind::instant:
      return value_of_text(field, text);
    case FieldKind::strings:
    case FieldKind::object:
      break;
  }
  return wrong(field, "in a JSON body");
}

Result<Arguments, std::string> read_object(element object, const std::vector<Field>& fields);

Result<Value, std::string> json_numbers(const Field& field, element value) {
  const std::string expected = "a list of at most " + std::to_string(field.max) + " whole numbers";
  if (!value.is_array()) return wrong(field, expected);
  std::vector<std::int64_t> numbers;
  for (const element one : simdjson::dom::array(value)) {
    if (!one.is_int64()) return wrong(field, expected);
    numbers.push_back(std::int64_t(one));
  }
  if (field.max > 0 && static_cast<std::int64_t>(numbers.size()) > field.max) {
    return wrong(field, expected);
  }
  return Value(std::move(numbers));
}

Result<Value, std::string> json_strings(const Field& field, element value) {
  constexpr std::string_view expected = "an object whose members are strings";
  if (!value.is_object()) return wrong(field, expected);
  Arguments::Strings strings;
  for (const auto& [name, member] : simdjson::dom::object(value)) {
    if (!member.is_string()) return wrong(field, expected);
    strings.push_back({std::string(name), std::string(std::string_view(member))});
  }
  return Value(std::move(strings));
}

Result<Value, std::string> json_value(const Field& field, element value) {
  switch (field.kind) {
    case FieldKind::integer:
      if (!value.is_int64()) return wrong(field, range_of(field));
      return number_value(field, std::int64_t(value));
    case FieldKind::boolean:
      if (!value.is_bool()) return wrong(field, "true or false");
      return Value(bool(value));
    case FieldKind::numbers:
      return json_numbers(field, value);
    case FieldKind::strings:
      return json_strings(field, value);
    case FieldKind::object: {
      if (!value.is_object()) return wrong(field, "an object");
      auto members = read_object(value, field.members);
      if (!members) return std::string(field.name) + ": " + members.error();
      return Value(std::make_shared<Arguments>(std::move(*members)));
    }
    case FieldKind::text:
    case FieldKind::choice:
    case FieldKind::duration:
    case FieldKind::instant:
      if (!value.is_string()) return wrong(field, "a string");
      return value_of_text(field, std::string_view(value));
  }
  return wrong(field, "something else");
}

std::optional<std::string> missing(const Arguments& arguments, const std::vector<Field>& fields) {
  for (const Field& field : fields) {
    if (field.required && !arguments.has(field.name)) {
      return std::string(field.name) + " is missing: " + std::string(field.about);
    }
  }
  return std::nullopt;
}

Result<Arguments, std::string> read_object(element object, const std::vector<Field>& fields) {
  Arguments arguments;
  for (const auto& [name, value] : simdjson::dom::object(object)) {
    const Field* field = field_named(name, fields);
    if (field == nullptr) {
      return "unknown member " + in_quotes(name) + "; known: " + names_of(fields);
    }
    if (arguments.has(name)) return std::string(name) + " comes twice";
    if (value.is_null()) continue;
    auto read = json_value(*field, value);
    if (!read) return read.error();
    arguments.put(name, std::move(*read));
  }
  if (auto lacking = missing(arguments, fields)) return *lacking;
  return arguments;
}

}  // namespace

Result<Arguments, std::string> Arguments::from_query(std::string_view target,
                                                     const std::vector<Field>& fields) {
  const auto parameters = parse_query(target);
  if (!parameters) {
    return std::string(
        "the query cannot be decoded: an escape is malformed, or a name comes twice");
  }
  Arguments arguments;
  for (const auto& [name, text] : *parameters) {
    const Field* field = field_named(name, fields);
    if (field == nullptr) {
      return "unknown parameter " + in_quotes(name) + "; known: " + names_of(fields);
    }
    auto value = query_value(*field, text);
    if (!value) return value.error();
    arguments.put(name, std::move(*value));
  }
  if (auto lacking = missing(arguments, fields)) return *lacking;
  return arguments;
}

Result<Arguments, std::string> Arguments::from_json(std::string_view body,
                                                    const std::vector<Field>& fields) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS || !root.is_object()) {
    return std::string("the body must be a JSON object");
  }
  return read_object(root, fields);
}

template <class T>
const T* Arguments::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? nullptr : std::get_if<T>(&found->second);
}

std::string Arguments::text(std::string_view name) const {
  const auto* found = find<std::string>(name);
  return found == nullptr ? std::string() : *found;
}

std::int64_t Arguments::number(std::string_view name, std::int64_t otherwise) const {
  const auto* found = find<std::int64_t>(name);
  return found == nullptr ? otherwise : *found;
}

bool Arguments::truth(std::string_view name) const {
  const auto* found = find<bool>(name);
  return found != nullptr && *found;
}

std::optional<std::int64_t> Arguments::time(std::string_view name) const {
  const auto* found = find<std::int64_t>(name);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::vector<std::int64_t> Arguments::numbers(std::string_view name) const {
  const auto* found = find<std::vector<std::int64_t>>(name);
  return found == nullptr ? std::vector<std::int64_t>() : *found;
}

Arguments::Strings Arguments::strings(std::string_view name) const {
  const auto* found = find<Strings>(name);
  return found == nullptr ? Strings() : *found;
}

const Arguments* Arguments::object(std::string_view name) const {
  const auto* found = find<std::shared_ptr<Arguments>>(name);
  return found == nullptr ? nullptr : found->get();
}

}  // namespace oncekey::admin
