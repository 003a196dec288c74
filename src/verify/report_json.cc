#include "boundary/json_writer.h"
#include "http/field.h"
#include "verify/report.h"

namespace oncekey::verify {
namespace {

void write_exchange(JsonWriter& writer, const Exchange& exchange) {
  writer.begin_object();
  writer.member("what", exchange.request.what);
  writer.member("request", request_line(exchange.request));
  writer.member("request_body", excerpt(exchange.request.body));
  writer.member("status", exchange.answer.status);
  if (!exchange.answer.error.empty()) writer.member("error", exchange.answer.error);
  writer.key("headers");
  writer.begin_object();
  for (const Header& field : exchange.answer.headers) {
    const bool secret = http::equals_ignoring_case(field.name, "Set-Cookie");
    if (!secret) writer.member(field.name, field.value);
  }
  writer.end_object();
  if (!exchange.note.empty()) writer.member("note", exchange.note);
  writer.member("body", excerpt(exchange.answer.body));
  writer.end_object();
}

void write_result(JsonWriter& writer, const CheckResult& result) {
  writer.begin_object();
  writer.member("id", result.check.id);
  writer.member("question", result.check.question);
  writer.member("group", result.check.group);
  writer.member("verdict", to_string(result.finding.verdict));
  writer.member("promised", result.check.promise);
  writer.member("sent", result.check.sends);
  writer.member("came_back", result.finding.what);
  writer.member("meaning", result.check.meaning);
  writer.member("requests", result.requests);
  writer.member("took_ms", result.took_ms);
  writer.key("exchanges");
  writer.begin_array();
  for (const Exchange& exchange : result.trace) write_exchange(writer, exchange);
  writer.end_array();
  writer.end_object();
}

}  // namespace

std::string to_json(const Report& report) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object();
  writer.member("url", report.url);
  writer.member("method", report.method);
  writer.member("profile", report.profile);
  writer.member("started", report.started);
  writer.member("took_ms", report.took_ms);
  writer.member("requests", report.requests);
  writer.member("requests_max", report.requests_max);
  writer.member("conclusion", report.conclusion());
  for (const Verdict verdict : all_verdicts) {
    writer.member(to_string(verdict), report.count(verdict));
  }
  writer.key("checks");
  writer.begin_array();
  for (const CheckResult& result : report.results) write_result(writer, result);
  writer.end_array();
  writer.end_object();
  return out + "\n";
}

}  // namespace oncekey::verify
