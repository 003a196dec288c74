// Requests as spans: the caller's trace goes on through the gateway to the upstream, a collector
// hears of it, and one that is away costs nothing but spans.
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

const std::string trace_id = "4bf92f3577b34da6a3ce929d0e0e4736";
const std::string caller_span = "00f067aa0ba902b7";

class Traces : public GatewayFixture {
 protected:
  void serve_traced(const std::string& collector) {
    serve("[traces]\notlp = \"" + collector + "/v1/traces\"\n");
  }
  HttpResponse post_traced(const std::string& key, const std::string& flags) {
    HttpRequest request = order(key);
    request.with("traceparent", "00-" + trace_id + "-" + caller_span + "-" + flags);
    return gateway_->send(request);
  }
  std::string exported() {
    std::string text;
    for (const Arrival& arrival : collector_.audit().all()) text += arrival.request.body + "\n";
    return text;
  }

  ScriptedUpstream collector_;
};

TEST_F(Traces, ReachTheCollectorAndTheUpstream) {
  serve_traced(collector_.url());
  EXPECT_EQ(post_traced("traced-0123456789ab", "01").status, 201);
  ASSERT_TRUE(collector_.audit().wait_for_arrivals(std::size_t{1}));
  const Arrival told = collector_.audit().all().front();
  EXPECT_EQ(told.target, "/v1/traces");
  EXPECT_EQ(told.request.header("Content-Type"), "application/json");
  const std::string spans = "/resourceSpans/0/scopeSpans/0/spans/";
  const std::string& body = told.request.body;
  EXPECT_EQ(json_text(body, spans + "0/traceId"), trace_id);
  EXPECT_EQ(json_text(body, spans + "0/parentSpanId"), caller_span);
  const std::string request_span = json_text(body, spans + "0/spanId");
  EXPECT_EQ(json_text(body, spans + "1/parentSpanId"), request_span);
  const std::string upstream_span = json_text(body, spans + "1/spanId");
  const Arrival arrived = upstream_.audit().of_key("traced-0123456789ab").at(0);
  EXPECT_EQ(arrived.request.header("traceparent"), "00-" + trace_id + "-" + upstream_span + "-01");
  EXPECT_NE(body.find(R"({"key":"oncekey.key","value":{"stringValue":"traced-0123456789ab"}})"),
            std::string::npos)
      << body;
}

TEST_F(Traces, OfAReplayHaveNoExchangeWithTheUpstream) {
  serve_traced(collector_.url());
  post_traced("replayed-0123456789", "00");  // whoever sends it does not want to see it
  EXPECT_EQ(post_traced("replayed-0123456789", "01").status, 201);
  ASSERT_TRUE(collector_.audit().wait_for_arrivals(std::size_t{1}));
  const std::string text = exported();
  EXPECT_NE(text.find(R"("stringValue":"replayed"})"), std::string::npos) << text;
  EXPECT_EQ(text.find(R"("stringValue":"executed"})"), std::string::npos) << text;
  EXPECT_EQ(text.find("upstream POST"), std::string::npos) << text;
}

TEST_F(Traces, ACollectorThatIsAwayCostsSpansAndNoRequest) {
  std::string gone;
  {
    ScriptedUpstream stopped;
    gone = stopped.url();
  }
  serve_traced(gone);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(post_traced("away-0123456789-" + std::to_string(i), "01").status, 201);
  }
  EXPECT_TRUE(eventually([&] { return gateway_->metric("oncekey_spans_dropped_total") == 20; }));
  EXPECT_EQ(gateway_->metric("oncekey_spans_exported_total"), 0);
}

TEST_F(Traces, WhatWaitsAtTheEndIsStillSent) {
  serve_traced(collector_.url());
  EXPECT_EQ(post_traced("last-0123456789abcd", "01").status, 201);
  EXPECT_EQ(gateway_->stop(), 0);
  EXPECT_NE(exported().find("last-0123456789abcd"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::test
