#include "gateway/policy.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <regex>
#include <set>

#include "boundary/answer_wording.h"
#include "gateway/policy_errors.h"
#include "gateway/policy_page.h"

namespace oncekey::gateway {
namespace {

RouteConfig payments() {
  RouteConfig route;
  route.match = "POST /payments/*";
  route.methods = {"POST"};
  route.path = "/payments/*";
  route.key_policy.syntax = KeySyntax::strict;
  route.profile = Profile::stripe;
  route.statuses.unknown = 503;
  route.retention_ms = 48LL * 3600 * 1000;
  route.on_inflight = OnInflight::wait;
  route.on_5xx = On5xx::unknown;
  route.on_expired = OnExpired::tombstone;
  return route;
}

Config with_routes(std::vector<RouteConfig> routes) {
  Config config;
  config.routes = std::move(routes);
  return config;
}

std::string_view text_at(simdjson::dom::element root, std::string_view pointer) {
  std::string_view text;
  EXPECT_EQ(root.at_pointer(pointer).get(text), simdjson::SUCCESS) << pointer;
  return text;
}

std::int64_t number_at(simdjson::dom::element root, std::string_view pointer) {
  std::int64_t number = -1;
  EXPECT_EQ(root.at_pointer(pointer).get(number), simdjson::SUCCESS) << pointer;
  return number;
}

TEST(Policy, TellsOfAgeLaterAnswersAndLimits) {
  RouteConfig route = payments();
  route.max_age_ms = 300'000;
  route.async = AsyncUse::allowed;
  Config config = with_routes({route});
  config.limits.new_keys_per_second = 5;
  config.limits.live_keys_max = 100;
  config.limits.tenants.push_back({"canary", 7, 7, 7});
  simdjson::dom::parser parser;
  const std::string json = policy_json(config);
  const simdjson::dom::element root = parser.parse(json);
  EXPECT_EQ(text_at(root, "/routes/0/max_age"), "5m");
  EXPECT_EQ(number_at(root, "/routes/0/max_age_seconds"), 300);
  EXPECT_EQ(text_at(root, "/routes/0/age_header"), "Repeatability-First-Sent");
  EXPECT_EQ(text_at(root, "/routes/0/async"), "allowed");
  EXPECT_EQ(number_at(root, "/limits/new_keys_per_second"), 5);
  EXPECT_EQ(number_at(root, "/limits/new_keys_burst"), 5);
  EXPECT_EQ(number_at(root, "/limits/live_keys_max"), 100);
  EXPECT_EQ(text_at(root, "/key_status"), "/.well-known/idempotency/keys/{key}");
  EXPECT_EQ(json.find("canary"), json.npos) << "one tenant's limits are not everybody's to know";
  const std::string html = policy_html(config);
  EXPECT_NE(html.find("Prefer: respond-async"), html.npos);
  EXPECT_NE(html.find("Repeatability-First-Sent"), html.npos);
  EXPECT_EQ(policy_json(with_routes({payments()})).find("max_age"), std::string::npos);
}

TEST(Policy, TellsWhereKeysMayGoUnprotected) {
  RouteConfig route = payments();
  EXPECT_EQ(policy_json(with_routes({route})).find("fail_open"), std::string::npos);
  EXPECT_EQ(policy_html(with_routes({route})).find("Idempotency-Protected"), std::string::npos);
  route.fail_open = true;
  EXPECT_NE(policy_json(with_routes({route})).find("\"fail_open\":true"), std::string::npos);
  EXPECT_NE(policy_html(with_routes({route})).find("Idempotency-Protected"), std::string::npos);
}

TEST(PolicyJson, TellsWhatARouteAsksForAndDoes) {
  simdjson::dom::parser parser;
  const std::string json = policy_json(with_routes({payments()}));
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(json).get(root), simdjson::SUCCESS) << json;
  EXPECT_EQ(text_at(root, "/routes/0/match"), "POST /payments/*");
  EXPECT_EQ(text_at(root, "/routes/0/methods/0"), "POST");
  EXPECT_EQ(text_at(root, "/routes/0/key"), "required");
  EXPECT_TRUE(bool(root.at_pointer("/routes/0/required")));
  EXPECT_EQ(text_at(root, "/routes/0/key_header"), "Idempotency-Key");
  EXPECT_EQ(text_at(root, "/routes/0/key_syntax"), "strict");
  EXPECT_EQ(number_at(root, "/routes/0/key_min_length"), 16);
  EXPECT_EQ(number_at(root, "/routes/0/key_max_length"), 255);
  EXPECT_EQ(number_at(root, "/routes/0/retention_seconds"), 172'800);
  EXPECT_EQ(number_at(root, "/routes/0/status/mismatch"), 400);
  EXPECT_EQ(number_at(root, "/routes/0/status/unknown"), 503);
  EXPECT_EQ(text_at(root, "/routes/0/replay_marker"), "Idempotent-Replayed");
  EXPECT_EQ(text_at(root, "/routes/0/on_5xx"), "unknown");
  EXPECT_EQ(text_at(root, "/routes/0/wait_timeout"), "10s");
  EXPECT_EQ(text_at(root, "/routes/0/tombstone"), "30d");
}

TEST(PolicyJson, OfAGatewayWithoutRoutesHasTheDefaultOne) {
  simdjson::dom::parser parser;
  const std::string json = policy_json({});
  simdjson::dom::element root;
  ASSERT_EQ(parser.parse(json).get(root), simdjson::SUCCESS) << json;
  EXPECT_EQ(text_at(root, "/routes/0/match"), "POST,PATCH *");
  EXPECT_EQ(number_at(root, "/routes/0/status/mismatch"), 422);
  EXPECT_EQ(text_at(root, "/errors/0/type"), "/.well-known/idempotency#idempotency_key_missing");
}

TEST(PolicyJson, HasNothingThatIsOnlyTheOperators) {
  Config config;
  config.upstream = "http://canary-upstream:1";
  config.store = "rocksdb:/canary-store";
  config.secret_file = "/canary-secret";
  EXPECT_EQ(policy_json(config).find("canary"), std::string::npos);
  EXPECT_EQ(policy_html(config).find("canary"), std::string::npos);
}

// Error answers link to POLICY_URL#code: a code without anchor would be a dead link.
TEST(PolicyHtml, HasAnAnchorForEveryCodeThatAnAnswerCanHave) {
  const std::string html = policy_html({});
  std::set<std::string_view> codes;
  for (int i = 0; i <= static_cast<int>(AnswerCase::overloaded); ++i) {
    codes.insert(wording(static_cast<AnswerCase>(i)).code);
  }
  EXPECT_GE(codes.size(), 16u);
  for (const std::string_view code : codes) {
    const std::string anchor = "id=\"" + std::string(code) + "\"";
    const std::size_t at = html.find(anchor);
    EXPECT_NE(at, html.npos) << code;
    EXPECT_EQ(html.find(anchor, at + 1), html.npos) << code << " has two anchors";
  }
}

TEST(PolicyHtml, EveryLinkHasItsAnchor) {
  const std::string html = policy_html(with_routes({payments(), RouteConfig{}}));
  const std::regex link("href=\"#([^\"]*)\"");
  std::size_t links = 0;
  for (std::sregex_iterator it(html.begin(), html.end(), link), end; it != end; ++it, ++links) {
    EXPECT_NE(html.find("id=\"" + (*it)[1].str() + "\""), html.npos) << (*it)[1];
  }
  EXPECT_GT(links, 10u);
}

TEST(PolicyHtml, EscapesWhatTheConfigurationSays) {
  RouteConfig route = payments();
  route.path = "/<script>alert('1')</script>/&\"<!--errors-->";
  route.key_pointer = "/<b>";
  const std::string html = policy_html(with_routes({route}));
  EXPECT_EQ(html.find("<script"), html.npos);
  EXPECT_EQ(html.find("<b>/"), html.npos);
  EXPECT_NE(html.find("/&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;/&amp;&quot;"), html.npos);
  EXPECT_NE(html.find("/&lt;b&gt;"), html.npos);
}

TEST(PolicyHtml, NeedsNothingFromElsewhere) {
  const std::string html = policy_html({});
  for (const char* foreign :
       {"http://", "https://", "src=", "<script", "<link", "url(", "@import"}) {
    EXPECT_EQ(html.find(foreign), html.npos) << foreign;
  }
  EXPECT_EQ(html.find("<!--"), html.npos) << "a place in the frame was not filled";
}

TEST(PolicyHtml, SaysWhatEachRouteDoes) {
  RouteConfig off;
  off.match = "POST /search";
  off.methods = {"POST"};
  off.path = "/search";
  off.key = KeyUse::off;
  RouteConfig optional = payments();
  optional.key = KeyUse::optional;
  const std::string html = policy_html(with_routes({payments(), off, optional}));
  EXPECT_NE(html.find("Required, in the header <code>Idempotency-Key</code>"), html.npos);
  EXPECT_NE(html.find("Not used. Requests pass as they are."), html.npos);
  EXPECT_NE(html.find("Without one, a retry may run again."), html.npos);
  EXPECT_NE(html.find("<strong>2 days</strong>"), html.npos);
  EXPECT_NE(html.find("<td>503</td><td><a href=\"#outcome_unknown\">"), html.npos);
}

}  // namespace
}  // namespace oncekey::gateway
