#include "audit/audit.h"
#include "boundary/json_writer.h"

namespace oncekey::audit {
namespace {

void write_protection(JsonWriter& writer, const Protection& found) {
  writer.key("gateway");
  writer.begin_object();
  writer.member("key", to_string(found.kind));
  writer.member("path", found.target);
  if (found.kind != Protection::Kind::none) {
    writer.member("route", found.number);
    writer.member("match", found.match);
    writer.member("key_header", found.key_header);
    writer.member("fail_open", found.fail_open);
  }
  writer.end_object();
}

void write_result(JsonWriter& writer, const OperationResult& result) {
  const Operation& operation = result.operation;
  writer.begin_object();
  writer.member("method", operation.method);
  writer.member("path", operation.path);
  if (!operation.id.empty()) writer.member("operation_id", operation.id);
  writer.member("line", operation.at.line);
  writer.member("verdict", to_string(result.finding.verdict));
  writer.member("why", result.finding.what);
  writer.member("needs_key", result.needs_key && !result.excepted);
  writer.member("declared", to_string(result.declared));
  if (!result.declared_name.empty()) writer.member("declared_header", result.declared_name);
  if (result.protection) write_protection(writer, *result.protection);
  if (result.asked) {
    writer.key("asked");
    writer.begin_object();
    writer.member("answer", to_string(result.asked->kind));
    writer.member("status", result.asked->status);
    writer.member("what", result.asked->what);
    writer.end_object();
  }
  writer.end_object();
}

void write_flow(JsonWriter& writer, const Flow& flow) {
  writer.begin_object();
  writer.member("from", flow.from);
  writer.member("to", flow.to);
  writer.member("by", flow.by);
  writer.end_object();
}

}  // namespace

std::string to_json(const Report& report) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  writer.member("document", report.file);
  writer.member("openapi", report.version);
  writer.member("title", report.title);
  if (!report.config_file.empty()) writer.member("config", report.config_file);
  if (!report.url.empty()) writer.member("url", report.url);
  writer.member("started", report.started);
  writer.member("conclusion", report.conclusion());
  for (const Verdict verdict : verify::all_verdicts) {
    writer.member(to_string(verdict), report.count(verdict));
  }
  writer.key("operations");
  writer.begin_array();
  for (const OperationResult& result : report.results) write_result(writer, result);
  writer.end_array();
  writer.key("flows");
  writer.begin_array();
  for (const Flow& flow : report.flows) write_flow(writer, flow);
  writer.end_array();
  writer.key("notes");
  writer.begin_array();
  for (const std::string& note : report.notes) writer.value(note);
  writer.end_array();
  writer.member("routes", report.routes);
  writer.end_object();
  return out + "\n";
}

}  // namespace oncekey::audit
