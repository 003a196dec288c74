#include "gateway/ledger_report.h"

#include "boundary/answer.h"
#include "boundary/json_writer.h"
#include "gateway/context.h"
#include "gateway/route_pattern.h"
#include "gateway/route_table.h"
#include "oncekey/assert.h"

namespace oncekey::gateway {
namespace {

RouteConfig matching(const std::string& match) {
  const auto pattern = parse_route_pattern(match);
  ONCEKEY_ASSERT(pattern.ok());  // checked with the configuration
  RouteConfig route;
  route.match = match;
  route.methods = pattern->methods;
  route.path = pattern->path;
  return route;
}

}  // namespace

recovery::LedgerCounts check_ledger(
    const Config& config, store::Committer& committer, recovery::Prober& prober,
    const std::function<void(const recovery::Difference&)>& report) {
  const RouteTable routes({matching(config.ledger.match)});
  const auto concerns = [&routes](const Record& record) {
    return routes.match(record.method, record.path) != nullptr;
  };
  recovery::LedgerCheck check(
      {committer, prober, config.ledger.rules, concerns, wall_now_ms, report});
  return check.run_once();
}

std::string to_json(const recovery::Difference& difference) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("difference", to_string(difference.kind));
  json.member("at", format_rfc3339(difference.at));
  const auto member = [&json](std::string_view name, const std::string& value) {
    if (!value.empty()) json.member(name, value);
  };
  member("tenant", difference.record.scope);
  member("key", difference.record.key);
  member("charge", difference.charge);
  member("provider_key", difference.key);
  member("ours", difference.ours);
  member("theirs", difference.theirs);
  json.end_object();
  return out;
}

std::string to_json(const recovery::LedgerCounts& counts) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("charges", counts.charges);
  json.member("records", counts.records);
  json.member("differences", counts.differences);
  json.member("undecided", counts.undecided);
  if (!counts.error.empty()) json.member("error", counts.error);
  json.end_object();
  return out;
}

}  // namespace oncekey::gateway
