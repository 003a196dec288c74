// The gateway as a proxy: connections, bodies, headers.
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class Proxy : public GatewayFixture {
 protected:
  // What the upstream received, as the audit has it.
  HttpMessage forwarded(HttpRequest request) {
    HttpResponse response = gateway_->send(request);
    EXPECT_EQ(response.status, 201) << response.body << response.failure;
    return upstream_.audit().all().back().request;
  }
};

TEST_F(Proxy, KeepsAConnectionAliveForManyRequests) {
  serve();
  HttpConnection connection(gateway_->port());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(connection.exchange(order("keep-alive-key-" + std::to_string(100 + i))).status, 201);
  }
  EXPECT_EQ(connection.exchange({.method = "GET"}).status, 201);
  EXPECT_LT(upstream_.connections_accepted(), 10u) << "upstream connections are not reused";
}

TEST_F(Proxy, ClosesWhenAskedTo) {
  serve();
  HttpConnection connection(gateway_->port());
  HttpRequest request = order(key_a);
  request.with("Connection", "close");
  HttpResponse response = connection.exchange(request);
  EXPECT_EQ(response.status, 201);
  EXPECT_TRUE(response.has_token("Connection", "close"));
  EXPECT_TRUE(connection.ends());
}

TEST_F(Proxy, OldClientsGetAnAnswerTheyCanRead) {
  serve();
  HttpConnection connection(gateway_->port());
  connection.send("GET /orders HTTP/1.0\r\n" + std::string(behaviour_header) +
                  ": size=50000 chunked\r\n\r\n");
  HttpResponse response = connection.receive();
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.count("Transfer-Encoding"), 0u);
  EXPECT_EQ(response.body.size(), 50'000u);
  EXPECT_TRUE(connection.ends());
}

TEST_F(Proxy, PipelinedRequestsAreAnsweredInOrder) {
  serve();
  HttpConnection connection(gateway_->port());
  std::string bytes;
  for (int i = 0; i < 10; ++i) {
    bytes += order("pipelined-key-" + std::to_string(100 + i), i == 3 ? "delay=50" : "").bytes();
    bytes += HttpRequest{.method = "GET", .target = "/status"}.bytes();
  }
  bytes += order("pipelined-key-100").bytes();
  connection.send(bytes);
  std::vector<std::string> bodies;
  for (int i = 0; i < 21; ++i) {
    HttpResponse response = connection.receive();
    ASSERT_EQ(response.status, 201) << i << " " << response.failure;
    bodies.push_back(response.body);
  }
  EXPECT_EQ(bodies[20], bodies[0]);
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(bodies[static_cast<std::size_t>(i)],
              "{\"id\":\"order-" + std::to_string(i + 1) + "\"}");
  }
}

TEST_F(Proxy, RequestsThatArriveByteByByteAreServed) {
  serve();
  HttpConnection connection(gateway_->port());
  for (char byte : order(key_a).bytes()) connection.send(std::string(1, byte));
  EXPECT_EQ(connection.receive().status, 201);
}

TEST_F(Proxy, ChunkedAndSizedBodiesAreTheSameRequest) {
  serve();
  std::string body = "{\"note\":\"" + std::string(5000, 'n') + "\"}";
  HttpRequest request = order(key_a, "", body);
  request.chunked = true;
  HttpResponse first = gateway_->send(request);
  EXPECT_EQ(first.status, 201) << first.body;
  EXPECT_EQ(upstream_.audit().all()[0].request.body, body);
  EXPECT_EQ(post(key_a, "", body).body, first.body);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Proxy, AnswersWithoutBodyLeaveTheConnectionInStep) {
  serve();
  HttpConnection connection(gateway_->port());
  for (const char* status : {"status=204", "status=304", "status=200"}) {
    HttpRequest request{.method = "GET"};
    request.with(std::string(behaviour_header), status);
    EXPECT_EQ("status=" + std::to_string(connection.exchange(request).status), status);
  }
  HttpRequest head{.method = "HEAD"};
  head.with(std::string(behaviour_header), "size=1234");
  HttpResponse response = connection.exchange(head);
  EXPECT_EQ(response.status, 201);
  EXPECT_EQ(response.header("Content-Length"), "1234");
  EXPECT_EQ(connection.exchange({.method = "GET"}).status, 201);
}

TEST_F(Proxy, ExpectContinueIsAnsweredBeforeTheBody) {
  serve();
  for (const char* method : {"POST", "PUT"}) {
    HttpConnection connection(gateway_->port());
    HttpRequest request = order(std::string("expect-continue-") + method);
    request.method = method;
    request.with("Expect", "100-continue");
    std::string bytes = request.bytes();
    std::size_t body_start = bytes.size() - request.body.size();
    connection.send(bytes.substr(0, body_start));
    EXPECT_EQ(connection.receive_interim(), 100) << method;
    connection.send(bytes.substr(body_start));
    EXPECT_EQ(connection.receive().status, 201) << method;
  }
}

TEST_F(Proxy, ExpectContinueOfARefusedRequestGetsTheRefusalInstead) {
  serve();
  HttpConnection connection(gateway_->port());
  HttpRequest request = order("");
  request.with("Expect", "100-continue");
  std::string bytes = request.bytes();
  connection.send(bytes.substr(0, bytes.size() - request.body.size()));
  HttpResponse response = connection.receive();
  EXPECT_EQ(response.status, 400);
  EXPECT_TRUE(response.interim.empty());
}

TEST_F(Proxy, InterimAnswersDoNotConfuseTheFinalOne) {
  serve();
  EXPECT_EQ(post(key_a, "early-hints").status, 201);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  HttpRequest get{.method = "GET"};
  get.with(std::string(behaviour_header), "early-hints");
  EXPECT_EQ(gateway_->send(get).status, 201);
}

TEST_F(Proxy, HopByHopHeadersAreNotForwarded) {
  serve();
  HttpRequest request = order(key_a);
  request.with("Connection", "keep-alive, X-Private")
      .with("X-Private", "hop")
      .with("Keep-Alive", "timeout=5")
      .with("Proxy-Connection", "keep-alive")
      .with("Proxy-Authorization", "Basic c2VjcmV0")
      .with("TE", "trailers")
      .with("X-Public", "end to end");
  HttpMessage seen = forwarded(request);
  for (const char* name : {"X-Private", "Keep-Alive", "Proxy-Connection", "Proxy-Authorization"}) {
    EXPECT_EQ(seen.count(name), 0u) << name;
  }
  EXPECT_EQ(seen.header("X-Public"), "end to end");
  EXPECT_FALSE(seen.has_token("Connection", "X-Private"));
}

TEST_F(Proxy, ConnectionHeaderCannotRemoveWhatTheGatewayRelies) {
  serve();
  HttpRequest request = order(key_a);
  request.with("Connection", "Idempotency-Key, Content-Length, Host, traceparent");
  HttpResponse response = gateway_->send(request);
  if (response.status == 400) {
    EXPECT_EQ(upstream_.audit().size(), 0u);
    return;
  }
  EXPECT_EQ(response.status, 201);
  HttpMessage seen = upstream_.audit().all().back().request;
  EXPECT_EQ(seen.count("Idempotency-Key"), 1u);
  EXPECT_EQ(seen.count("Host"), 1u);
  EXPECT_EQ(seen.body, request.body);
}

TEST_F(Proxy, KeyAttemptAndOriginAreForwarded) {
  serve();
  HttpMessage seen = forwarded(order(key_a).with("X-Forwarded-For", "6.6.6.6"));
  EXPECT_NE(seen.header("Idempotency-Key").find(key_a), std::string::npos);
  EXPECT_EQ(seen.header("Idempotency-Attempt"), "1");
  EXPECT_EQ(seen.header("Host"), "shop.example");
  EXPECT_EQ(seen.header("X-Forwarded-For"), "127.0.0.1") << "a client's claim is not trusted";
  EXPECT_EQ(seen.header("X-Forwarded-Proto"), "http");
  EXPECT_EQ(seen.header("X-Forwarded-Host"), "shop.example");
  EXPECT_NE(seen.header("Forwarded").find("for=127.0.0.1"), std::string::npos);
}

TEST_F(Proxy, TrustedForwardingChainGrows) {
  serve("trust_forwarded = true\n");
  HttpMessage seen = forwarded(order(key_a).with("X-Forwarded-For", "203.0.113.7"));
  EXPECT_EQ(seen.header("X-Forwarded-For"), "203.0.113.7, 127.0.0.1");
}

TEST_F(Proxy, ClientCannotForgeTheAttempt) {
  serve();
  HttpMessage seen = forwarded(order(key_a).with("Idempotency-Attempt", "7"));
  EXPECT_EQ(seen.count("Idempotency-Attempt"), 1u);
  EXPECT_EQ(seen.header("Idempotency-Attempt"), "1");
}

TEST_F(Proxy, TraceIsKeptOrStarted) {
  serve();
  const std::string trace = "4bf92f3577b34da6a3ce929d0e0e4736";
  HttpMessage kept =
      forwarded(order(key_a).with("traceparent", "00-" + trace + "-00f067aa0ba902b7-01"));
  EXPECT_EQ(kept.count("traceparent"), 1u);
  EXPECT_EQ(kept.header("traceparent").substr(3, 32), trace);
  HttpMessage started = forwarded(order(key_b));
  EXPECT_EQ(started.header("traceparent").size(), 55u);
  HttpMessage replaced = forwarded(order("trace-is-malformed").with("traceparent", "nonsense"));
  EXPECT_EQ(replaced.header("traceparent").size(), 55u);
}

TEST_F(Proxy, UpgradeIsRefusedByDefault) {
  serve();
  HttpRequest request{.method = "GET", .target = "/socket"};
  request.with("Connection", "Upgrade").with("Upgrade", "echo");
  request.with(std::string(behaviour_header), "upgrade");
  EXPECT_EQ(gateway_->send(request).status, 501);
  HttpConnection connection(gateway_->port());
  connection.send("CONNECT shop.example:443 HTTP/1.1\r\nHost: shop.example:443\r\n\r\n");
  EXPECT_GE(connection.receive().status, 400);
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

TEST_F(Proxy, UpgradePassesWhereItIsChosen) {
  serve("upgrade = \"pass\"\n");
  HttpConnection connection(gateway_->port());
  HttpRequest request{.method = "GET", .target = "/socket"};
  request.with("Connection", "Upgrade").with("Upgrade", "echo");
  request.with(std::string(behaviour_header), "upgrade");
  ASSERT_EQ(connection.exchange(request).status, 101);
  for (const std::string& message : {std::string("ping"), std::string(100'000, 'z')}) {
    connection.send(message);
    EXPECT_EQ(connection.receive_raw(message.size()), message);
  }
}

TEST_F(Proxy, UpstreamBasePathIsPrepended) {
  gateway_ = std::make_unique<GatewayProcess>(
      GatewayProcess::Options{.upstream = upstream_.url() + "/base"});
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(upstream_.audit().all()[0].target, "/base/orders");
}

TEST_F(Proxy, UnprotectedRequestToADeadUpstreamIsABadGateway) {
  gateway_ = std::make_unique<GatewayProcess>(
      GatewayProcess::Options{.upstream = "http://127.0.0.1:" + std::to_string(free_port())});
  EXPECT_EQ(gateway_->send({.method = "GET"}).status, 502);
}

TEST_F(Proxy, CutAnswerOfAnUnprotectedRequestIsNotMadeToLookWhole) {
  serve();
  for (const char* behaviour : {"cut-body size=100000", "cut-body chunked size=100000"}) {
    HttpRequest get{.method = "GET"};
    get.with(std::string(behaviour_header), behaviour);
    HttpResponse response = gateway_->send(get);
    EXPECT_TRUE(response.status == 0 || response.status == 502) << behaviour;
  }
}

}  // namespace
}  // namespace oncekey::test
