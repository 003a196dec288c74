#include "admin/openapi.h"

#include <map>

#include "admin/node_api.h"
#include "admin/schemas_json.h"
#include "boundary/json_document.h"
#include "boundary/json_writer.h"

namespace oncekey::admin {
namespace {

void write_schema(JsonWriter& json, const Field& field);

void write_object_schema(JsonWriter& json, const std::vector<Field>& fields) {
  json.begin_object();
  json.member("type", "object");
  json.member("additionalProperties", false);
  json.key("properties");
  json.begin_object();
  for (const Field& field : fields) {
    json.key(field.name);
    write_schema(json, field);
  }
  json.end_object();
  json.key("required");
  json.begin_array();
  for (const Field& field : fields) {
    if (field.required) json.value(field.name);
  }
  json.end_array();
  json.end_object();
}

void write_schema(JsonWriter& json, const Field& field) {
  if (field.kind == FieldKind::object) {
    write_object_schema(json, field.members);
    return;
  }
  json.begin_object();
  json.member("description", field.about);
  switch (field.kind) {
    case FieldKind::integer:
      json.member("type", "integer");
      json.member("minimum", field.min);
      if (field.max > 0) json.member("maximum", field.max);
      break;
    case FieldKind::boolean:
      json.member("type", "boolean");
      break;
    case FieldKind::choice:
      json.member("type", "string");
      json.key("enum");
      json.begin_array();
      for (const std::string_view choice : field.choices) json.value(choice);
      json.end_array();
      break;
    case FieldKind::duration:
      json.member("type", "string");
      json.member("pattern", "^[0-9]+(ms|s|m|h|d)$");
      break;
    case FieldKind::instant:
      json.member("type", "string");
      json.member("format", "date-time");
      break;
    case FieldKind::numbers:
      json.member("type", "array");
      json.key("items");
      json.raw("{\"type\":\"integer\"}");
      if (field.max > 0) json.member("maxItems", field.max);
      break;
    case FieldKind::strings:
      json.member("type", "object");
      json.key("additionalProperties");
      json.raw("{\"type\":\"string\"}");
      break;
    case FieldKind::text:
      json.member("type", "string");
      if (field.max > 0) json.member("maxLength", field.max);
      break;
    case FieldKind::object:
      break;
  }
  json.end_object();
}

void write_parameters(JsonWriter& json, const std::vector<Field>& fields) {
  json.key("parameters");
  json.begin_array();
  for (const Field& field : fields) {
    json.begin_object();
    json.member("name", field.name);
    json.member("in", "query");
    json.member("description", field.about);
    json.member("required", field.required);
    json.key("schema");
    write_schema(json, field);
    json.end_object();
  }
  json.end_array();
}

void write_content(JsonWriter& json, std::string_view type, std::string_view schema) {
  json.key("content");
  json.begin_object();
  json.key(type);
  json.begin_object();
  json.key("schema");
  json.begin_object();
  if (schema.empty()) {
    json.member("type", "string");
  } else {
    json.member("$ref", "#/components/schemas/" + std::string(schema));
  }
  json.end_object();
  json.end_object();
  json.end_object();
}

std::string_view text_type(const Endpoint& endpoint) {
  return endpoint.path == "/metrics" ? "text/plain" : "text/event-stream";
}

void write_responses(JsonWriter& json, const Endpoint& endpoint) {
  json.key("responses");
  json.begin_object();
  json.key("200");
  json.begin_object();
  json.member("description", "done");
  if (endpoint.result.empty()) {
    write_content(json, text_type(endpoint), "");
  } else {
    write_content(json, "application/json", endpoint.result);
  }
  json.end_object();
  json.key("default");
  json.begin_object();
  json.member("description", "what was wrong, and what to do");
  write_content(json, "application/problem+json", "Problem");
  json.end_object();
  json.end_object();
}

void write_operation(JsonWriter& json, const Endpoint& endpoint) {
  json.key(endpoint.method == "GET" ? "get" : "post");
  json.begin_object();
  json.member("operationId", endpoint.name);
  json.member("summary", endpoint.about);
  json.key("security");
  json.begin_array();
  if (endpoint.access != Access::open) {
    json.begin_object();
    json.key("token");
    json.begin_array();
    json.value(endpoint.access == Access::write ? "write" : "read");
    json.end_array();
    json.end_object();
  }
  json.end_array();
  if (endpoint.method == "GET") {
    write_parameters(json, endpoint.fields);
  } else {
    json.key("requestBody");
    json.begin_object();
    json.member("required", true);
    json.key("content");
    json.begin_object();
    json.key("application/json");
    json.begin_object();
    json.key("schema");
    write_object_schema(json, endpoint.fields);
    json.end_object();
    json.end_object();
    json.end_object();
  }
  write_responses(json, endpoint);
  json.end_object();
}

}  // namespace

std::string openapi_document(const std::vector<Endpoint>& endpoints, std::string_view title) {
  std::string text;
  JsonWriter json(text);
  json.begin_object();
  json.member("openapi", "3.1.0");
  json.key("info");
  json.begin_object();
  json.member("title", title);
  json.member("version", version());
  json.end_object();
  std::map<std::string_view, std::vector<const Endpoint*>> paths;
  for (const Endpoint& endpoint : endpoints) paths[endpoint.path].push_back(&endpoint);
  json.key("paths");
  json.begin_object();
  for (const auto& [path, operations] : paths) {
    json.key(path);
    json.begin_object();
    for (const Endpoint* endpoint : operations) write_operation(json, *endpoint);
    json.end_object();
  }
  json.end_object();
  json.key("components");
  json.begin_object();
  json.key("securitySchemes");
  json.raw("{\"token\":{\"type\":\"http\",\"scheme\":\"bearer\"}}");
  json.key("schemas");
  json.raw(*JsonDocument(schemas).json_at(""));
  json.end_object();
  json.end_object();
  text.push_back('\n');
  return text;
}

}  // namespace oncekey::admin
