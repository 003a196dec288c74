#include "audit/audit.h"

#include <gtest/gtest.h>

#include "audit/routes.h"
#include "audit/sample.h"
#include "gateway/config_file.h"

namespace oncekey::audit {
namespace {

Api sample() {
  auto api = read_api(sample_yaml, "sample.yaml");
  if (!api) throw std::runtime_error(to_string(api.error().front(), "sample.yaml"));
  return *api;
}

struct Audited {
  std::vector<OperationResult> results;
  std::string routes;

  const OperationResult& operator[](const std::string& name) const {
    for (const OperationResult& each : results) {
      if (each.operation.name() == name) return each;
    }
    throw std::runtime_error("no operation " + name);
  }
  Verdict verdict(const std::string& name) const { return (*this)[name].finding.verdict; }
  std::string gaps() const {
    std::string names;
    for (const OperationResult& each : results) {
      if (each.finding.verdict == Verdict::fail) names += each.operation.name() + "\n";
    }
    return names;
  }
};

Audited audited(const Settings& settings, const std::string* toml = nullptr) {
  Audited out;
  bool without_routes = false;
  std::optional<gateway::RouteTable> table;
  if (toml != nullptr) {
    auto config = gateway::parse_config(*toml, "test.toml");
    if (!config) throw std::runtime_error(to_string(config.error().front()));
    without_routes = toml->find("[[route]]") == std::string::npos;
    table.emplace(config->config.routes);
  }
  out.results = results_of(sample(), settings, table ? &*table : nullptr);
  judge(out.results, settings);
  out.routes = missing_routes(out.results, settings, without_routes);
  return out;
}

Settings without_search() {
  Settings settings;
  settings.exceptions = {{{"POST"}, "/search"}};
  return settings;
}

TEST(Audit, ADocumentAloneIsJudgedByWhatItDeclares) {
  const Audited found = audited(without_search());
  EXPECT_EQ(found.gaps(), "POST /payments/{id}/capture\nPOST /refunds\nPOST /cancellations\n");
  EXPECT_EQ(found.verdict("POST /payments"), Verdict::pass);
  EXPECT_EQ(found.verdict("PATCH /payments/{id}"), Verdict::warning) << "the key is optional";
  EXPECT_EQ(found.verdict("PUT /payments/{id}"), Verdict::pass);
  EXPECT_EQ(found.verdict("DELETE /payments/{id}"), Verdict::pass);
  EXPECT_EQ(found.verdict("POST /search"), Verdict::skipped);
}

TEST(Audit, AConfigurationIsBetterEvidence) {
  const std::string toml = "[[route]]\nmatch = \"POST,PATCH /v1/payments/*\"\n";
  const Audited found = audited(without_search(), &toml);
  EXPECT_EQ(found.gaps(), "POST /refunds\nPOST /cancellations\n");
  EXPECT_EQ(found.verdict("POST /payments/{id}/capture"), Verdict::warning)
      << "protected, and not declared";
  EXPECT_EQ(found.verdict("POST /payments"), Verdict::pass);
}

TEST(Audit, OtherMethodsNeedAKeyWhenToldSo) {
  Settings settings = without_search();
  settings.methods = {"PUT"};
  const Audited found = audited(settings);
  EXPECT_EQ(found.gaps(), "PUT /payments/{id}\n");
}

TEST(Audit, StrictTakesWarningsForGaps) {
  Settings settings = without_search();
  settings.strict = true;
  EXPECT_NE(audited(settings).gaps().find("PATCH /payments/{id}"), std::string::npos);
}

TEST(Audit, AnExecutedRequestIsAGapWhateverIsPromised) {
  const Settings settings = without_search();
  std::vector<OperationResult> results = results_of(sample(), settings, nullptr);
  results[0].asked = Asked{Asked::Kind::executed, 201, "executed"};
  results[4].asked = Asked{Asked::Kind::refused, 400, "refused"};
  results[5].asked = Asked{Asked::Kind::unclear, 404, "not there"};
  judge(results, settings);
  EXPECT_EQ(results[0].finding.verdict, Verdict::fail);
  EXPECT_EQ(results[4].finding.verdict, Verdict::warning) << "refused, and not declared";
  EXPECT_EQ(results[5].finding.verdict, Verdict::fail) << "neither declared nor refused";
}

TEST(Audit, ARouteWithAnotherHeaderIsPointedOut) {
  const std::string toml = "[[route]]\nmatch = \"POST *\"\nkey_header = \"X-Once\"\n";
  const Audited found = audited(without_search(), &toml);
  EXPECT_NE(found["POST /payments"].finding.what.find("the route reads X-Once"), std::string::npos)
      << found["POST /payments"].finding.what;
}

TEST(Audit, FlowsLeadFromASafeStepToAGap) {
  const auto flows = flows_with_gap(audited(without_search()).results);
  std::string text;
  for (const Flow& flow : flows) text += flow.from + " > " + flow.to + " by " + flow.by + "\n";
  EXPECT_EQ(text,
            "POST /payments > POST /payments/{id}/capture by path\n"
            "POST /payments > POST /refunds by refund\n"
            "POST /payments > POST /cancellations by cancel\n");
}

TEST(Audit, TheMissingRoutesCloseEveryGap) {
  Settings settings = without_search();
  settings.methods = {"POST", "PATCH", "PUT", "DELETE"};
  for (const std::string toml :
       {std::string(), std::string("[[route]]\nmatch = \"POST /v1/refunds\"\nkey = \"off\"\n"),
        std::string("[[route]]\nmatch = \"POST,PATCH,PUT,DELETE *\"\nkey = \"off\"\n")}) {
    const Audited before = audited(settings, &toml);
    EXPECT_NE(before.gaps(), "") << toml;
    const std::string closed = before.routes + "\n" + toml;
    const Audited after = audited(settings, &closed);
    EXPECT_EQ(after.gaps(), "") << closed;
    EXPECT_EQ(after.routes, "");
  }
}

TEST(Audit, TheFirstRouteDoesNotPutTheDefaultOutOfForce) {
  Settings settings = without_search();
  settings.methods = {"POST", "PUT"};
  const std::string none;
  const Audited found = audited(settings, &none);
  EXPECT_EQ(found.gaps(), "PUT /payments/{id}\n");
  EXPECT_EQ(found.routes,
            "[[route]]\nmatch = \"PUT /v1/payments/*\"\nkey = \"required\"\n\n"
            "[[route]]\nmatch = \"POST,PATCH *\"\n");
}

TEST(Audit, AnExceptionIsKeptOutOfAWideRoute) {
  const auto api = read_api(
      "openapi: 3.0.0\npaths:\n  /items/{id}: {post: {}}\n  /items/search: {post: {}}\n", "a");
  ASSERT_TRUE(api);
  Settings settings;
  settings.exceptions = {{{"POST"}, "/items/search"}};
  settings.key_headers = {"X-Once"};
  auto results = results_of(*api, settings, nullptr);
  judge(results, settings);
  EXPECT_EQ(missing_routes(results, settings, false),
            "[[route]]\nmatch = \"POST /items/search\"\nkey = \"off\"\n\n"
            "[[route]]\nmatch = \"POST /items/*\"\nkey = \"required\"\nkey_header = \"X-Once\"\n");
}

TEST(AuditReport, WidePathsDoNotBreakTheTable) {
  Report report;
  report.file = "a.yaml";
  report.config_file = "oncekey.toml";
  report.results = audited(without_search()).results;
  report.results[0].operation.path = "/" + std::string(120, 'x');
  const std::string text = to_text(report, false);
  std::vector<std::size_t> columns;
  std::size_t start = 0;
  for (std::size_t end = text.find('\n'); end != text.npos; end = text.find('\n', start)) {
    const std::string line = text.substr(start, end - start);
    for (const char* word : {"document", "required", "no key", "optional"}) {
      const std::size_t at = line.find(std::string("  ") + word);
      const bool in_table = at != line.npos && line.find("the document") == line.npos;
      if (in_table) columns.push_back(at);
    }
    start = end + 1;
  }
  ASSERT_GE(columns.size(), 5u) << text;
  for (const std::size_t column : columns) EXPECT_EQ(column, columns.front()) << text;
}

TEST(AuditReport, WhatADocumentSaysIsNeverMarkupNorSteersATerminal) {
  Report report;
  report.results = audited(without_search()).results;
  report.results[4].operation.path = "/<b>\x1b[2J";
  EXPECT_EQ(to_text(report, false).find('\x1b'), std::string::npos);
  EXPECT_EQ(to_junit(report).find("<b>"), std::string::npos);
  EXPECT_NE(to_junit(report).find("failures=\"3\""), std::string::npos) << to_junit(report);
  EXPECT_NE(to_json(report).find("\"fail\":3"), std::string::npos) << to_json(report);
}

}  // namespace
}  // namespace oncekey::audit
