#include "audit/parameters.h"

#include <algorithm>

#include "http/field.h"

namespace oncekey::audit {
namespace {

// What nobody has called anything, so that a request with it should meet nothing.
constexpr const char* made_up_text = "oncekey-audit";
constexpr const char* made_up_uuid = "00000000-0000-4000-8000-000000000000";
constexpr const char* made_up_number = "0";

// 3.1 allows a list of types.
bool has_type(const Value& schema, std::string_view wanted) {
  const Value* type = schema.find("type");
  if (type == nullptr) return false;
  return type->text == wanted ||
         std::any_of(type->items.begin(), type->items.end(),
                     [&](const Value& each) { return each.text == wanted; });
}

std::string made_up(const Value* schema) {
  if (schema == nullptr) return made_up_text;
  if (schema->text_at("format") == "uuid") return made_up_uuid;
  if (has_type(*schema, "integer") || has_type(*schema, "number")) return made_up_number;
  return has_type(*schema, "boolean") ? "false" : made_up_text;
}

std::string first_of(const Value* list) {
  return list == nullptr || list->items.empty() ? "" : list->items.front().text;
}

// The parameter's own example goes before its schema's.
std::string example_of(const Value& parameter, const Value* schema) {
  std::string text = parameter.text_at("example");
  const Value* examples = parameter.find("examples");
  if (text.empty() && examples != nullptr && !examples->members.empty()) {
    text = examples->members.front().value.text_at("value");
  }
  if (!text.empty() || schema == nullptr) return text;
  for (const char* name : {"example", "default", "const"}) {
    text = schema->text_at(name);
    if (!text.empty()) return text;
  }
  text = first_of(schema->find("examples"));
  return text.empty() ? first_of(schema->find("enum")) : text;
}

}  // namespace

void ParameterReader::read(const Value& of, Operation& into) const {
  const Value* parameters = of.find("parameters");
  if (parameters == nullptr) return;
  if (parameters->kind != Value::Kind::list) {
    problems_.push_back({parameters->at, "parameters: a list was expected"});
    return;
  }
  for (const Value& each : parameters->items) {
    if (const Value* parameter = references_.follow(each)) read_one(*parameter, into);
  }
}

void ParameterReader::read_one(const Value& parameter, Operation& into) const {
  const std::string name = parameter.text_at("name");
  const std::string in = parameter.text_at("in");
  if (name.empty() || in.empty()) {
    problems_.push_back({parameter.at, "a parameter has a name and an in"});
    return;
  }
  if (in == "header") {
    std::erase_if(into.headers, [&](const HeaderParameter& other) {
      return http::equals_ignoring_case(other.name, name);
    });
    into.headers.push_back({name, parameter.is_true_at("required")});
    return;
  }
  std::erase_if(into.parameters, [&](const UrlParameter& other) {
    return other.name == name && other.in_path == (in == "path");
  });
  const bool needed = in == "path" || (in == "query" && parameter.is_true_at("required"));
  if (needed) into.parameters.push_back(url_parameter(parameter));
}

UrlParameter ParameterReader::url_parameter(const Value& parameter) const {
  UrlParameter out;
  out.name = parameter.text_at("name");
  out.in_path = parameter.text_at("in") == "path";
  const Value* schema = parameter.find("schema");
  if (schema != nullptr) schema = references_.follow(*schema);
  out.value = example_of(parameter, schema);
  if (out.value.empty()) out.value = made_up(schema);
  const Value* choices = schema == nullptr ? nullptr : schema->find("enum");
  if (choices != nullptr) {
    for (const Value& choice : choices->items) out.choices.push_back(choice.text);
  }
  return out;
}

void make_up_missing(Operation& operation) {
  const std::string& path = operation.path;
  for (std::size_t open = path.find('{'); open != std::string::npos;
       open = path.find('{', open + 1)) {
    const std::size_t close = path.find('}', open);
    if (close == std::string::npos) return;
    const std::string name = path.substr(open + 1, close - open - 1);
    const auto same = [&](const UrlParameter& each) { return each.in_path && each.name == name; };
    const auto& all = operation.parameters;
    if (std::none_of(all.begin(), all.end(), same)) {
      operation.parameters.push_back({name, true, made_up_text, {}});
    }
  }
}

}  // namespace oncekey::audit
