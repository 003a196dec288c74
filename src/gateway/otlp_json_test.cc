#include "gateway/otlp_json.h"

#include <gtest/gtest.h>

#include "gateway/log.h"
#include "gateway/trace.h"

namespace oncekey::gateway {
namespace {

const std::string sent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

RequestLine executed() {
  RequestLine line;
  line.method = "POST";
  line.path = "/payments";
  line.route = "POST /payments";
  line.key = "order-4711";
  line.tenant = "shop";
  line.decision = Decision::executed;
  line.outcome = "completed";
  line.attempt = 1;
  line.status = 201;
  line.total_us = 5'000;
  line.reserve_us = 700;
  line.upstream_after_us = 1'000;
  line.upstream_us = 3'000;
  line.settle_us = 600;
  return line;
}

Trace traced(std::string_view traceparent, int percent = 100) {
  Trace trace = keep_or_start_trace(traceparent);
  begin_spans(trace, percent);
  return trace;
}

TEST(Spans, ContinueTheCallersTraceWithOnesOfTheirOwn) {
  const Trace trace = traced(sent);
  EXPECT_TRUE(trace.sampled);
  EXPECT_EQ(trace.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
  EXPECT_EQ(trace.parent_id, "00f067aa0ba902b7");
  EXPECT_EQ(trace.span_id.size(), 16u);
  EXPECT_NE(trace.upstream_span_id(), trace.span_id);
  EXPECT_NE(trace.upstream_span_id(), trace.parent_id);
  EXPECT_EQ(trace.traceparent.size(), 55u);
  EXPECT_TRUE(keep_or_start_trace(trace.traceparent).continued) << trace.traceparent;
}

TEST(Spans, TheCallerDecidesWhetherItsTraceIsSampled) {
  EXPECT_FALSE(traced(sent.substr(0, 53) + "00").sampled);
  EXPECT_FALSE(traced(sent.substr(0, 53) + "02").sampled);
  EXPECT_TRUE(traced(sent.substr(0, 53) + "0b").sampled);
  EXPECT_TRUE(traced(sent, 0).sampled);
  EXPECT_TRUE(traced(sent.substr(0, 53) + "00").traceparent.ends_with("-00"));
}

TEST(Spans, OfTracesThatBeginHereAPartIsSampled) {
  int sampled = 0;
  for (int i = 0; i < 1'000; ++i) sampled += traced("", 30).sampled ? 1 : 0;
  EXPECT_GT(sampled, 200);
  EXPECT_LT(sampled, 400);
  EXPECT_FALSE(traced("", 0).sampled);
  EXPECT_TRUE(traced("", 100).sampled);
  EXPECT_EQ(traced("").parent_id, "");
}

TEST(Spans, ALaterVersionsTraceIsCarriedOnAsThisOnes) {
  const Trace trace = traced("cc" + sent.substr(2) + "-what-is");
  EXPECT_TRUE(trace.traceparent.starts_with("00-4bf92f3577b34da6a3ce929d0e0e4736-"));
  EXPECT_EQ(trace.traceparent.size(), 55u);
}

TEST(Otlp, ARequestAndItsExchangeWithTheUpstream) {
  Trace trace = traced(sent);
  trace.span_id = "1111111111111111";
  trace.traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-2222222222222222-01";
  const RequestSpan span = make_span(executed(), trace, 1'000'005'000);
  EXPECT_EQ(
      otlp_json({&span, 1}, "here"),
      R"({"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"oncekey"}},)"
      R"({"key":"service.instance.id","value":{"stringValue":"here"}}]},"scopeSpans":[{"scope":{"name":"oncekey"},)"
      R"("spans":[{"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"1111111111111111",)"
      R"("parentSpanId":"00f067aa0ba902b7","name":"POST /payments","kind":2,)"
      R"("startTimeUnixNano":"1000000000000","endTimeUnixNano":"1000005000000","attributes":[)"
      R"({"key":"http.request.method","value":{"stringValue":"POST"}},)"
      R"({"key":"url.path","value":{"stringValue":"/payments"}},)"
      R"({"key":"http.response.status_code","value":{"intValue":"201"}},)"
      R"({"key":"oncekey.key","value":{"stringValue":"order-4711"}},)"
      R"({"key":"oncekey.tenant","value":{"stringValue":"shop"}},)"
      R"({"key":"oncekey.decision","value":{"stringValue":"executed"}},)"
      R"({"key":"oncekey.outcome","value":{"stringValue":"completed"}},)"
      R"({"key":"oncekey.attempt","value":{"intValue":"1"}},)"
      R"({"key":"oncekey.reserve_us","value":{"intValue":"700"}},)"
      R"({"key":"oncekey.settle_us","value":{"intValue":"600"}}]},)"
      R"({"traceId":"4bf92f3577b34da6a3ce929d0e0e4736","spanId":"2222222222222222",)"
      R"("parentSpanId":"1111111111111111","name":"upstream POST","kind":3,)"
      R"("startTimeUnixNano":"1000001000000","endTimeUnixNano":"1000004000000","attributes":[)"
      R"({"key":"http.request.method","value":{"stringValue":"POST"}},)"
      R"({"key":"oncekey.key","value":{"stringValue":"order-4711"}}]}]}]}]})");
}

TEST(Otlp, AFailureIsMarkedAndAReplayHasNoExchange) {
  RequestLine line = executed();
  line.upstream_us = 0;
  line.status = 503;
  line.error = "the store is down";
  const RequestSpan span = make_span(line, traced(sent), 9'000'000);
  const std::string json = otlp_json({&span, 1}, "here");
  EXPECT_NE(json.find(R"("status":{"code":2,"message":"the store is down"})"), std::string::npos)
      << json;
  EXPECT_EQ(json.find("upstream POST"), std::string::npos);
}

}  // namespace
}  // namespace oncekey::gateway
