#include "gateway/forward.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "http/server.h"
#include "http/test_loop.h"

namespace oncekey::gateway {
namespace {

constexpr std::string_view traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// Notes what would be sent upstream for each request that a server takes.
class Forwarder final : public http::Handler {
 public:
  explicit Forwarder(const ForwardContext& context, http::Framing framing)
      : context_(context), framing_(framing) {}

  http::Task<void> handle(http::Exchange& exchange) override {
    write_upstream_head(upstream_head, exchange, framing_, context_);
    http::ResponseStart start;
    co_await exchange.respond(start, {});
  }
  http::Task<void> refuse(http::Exchange&, const http::Refusal& refusal) override {
    ADD_FAILURE() << refusal.reason;
    co_return;
  }

  std::string upstream_head;

 private:
  ForwardContext context_;
  http::Framing framing_;
};

class Forward : public testing::Test {
 protected:
  // The head for the upstream, parsed again by the strict parser.
  const http::RequestHead& forward(std::string_view request) {
    ForwardContext context{config, base_path, traceparent, key, upgrade};
    Forwarder forwarder(context, framing);
    http::Loop loop;
    http::ServerOptions options;
    http::ServerStats stats;
    stats.connections_open = 1;
    http::ConnectionSet connections(loop, forwarder, options, stats);
    http::SocketPair pair;
    EXPECT_EQ(::send(pair.far, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    connections.adopt(pair.near, peer);  // the request is there, so it is handled at once
    connections.abort();
    ::close(pair.far);
    text = forwarder.upstream_head;
    const auto refusal = head.parse(text, {});
    EXPECT_FALSE(refusal) << refusal->reason << "\n" << text;
    return head;
  }

  std::vector<std::string> values(std::string_view name) const {
    std::vector<std::string> found;
    for (const http::Field& field : head.fields) {
      if (http::equals_ignoring_case(field.name, name)) found.emplace_back(field.value);
    }
    return found;
  }

  using Values = std::vector<std::string>;

  Config config;
  std::string_view base_path;
  const ForwardedKey* key = nullptr;
  bool upgrade = false;
  http::Framing framing;
  std::string peer = "10.0.0.9";
  std::string text;
  http::RequestHead head;
};

TEST_F(Forward, RequestLineAndEndToEndFieldsPassUnchanged) {
  forward(
      "POST /a/b?c=%20&d HTTP/1.1\r\nHost: api.example:80\r\nX-Custom:  v \r\n"
      "Cookie: a=1\r\nCookie: b=2\r\nAuthorization: Bearer t\r\n\r\n");
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/a/b?c=%20&d");
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_EQ(values("Host"), Values{"api.example:80"});
  EXPECT_EQ(values("X-Custom"), Values{"v"});
  EXPECT_EQ(values("Cookie"), (Values{"a=1", "b=2"}));
  EXPECT_EQ(values("Authorization"), Values{"Bearer t"});
  EXPECT_EQ(values("traceparent"), Values{std::string(traceparent)});
}

TEST_F(Forward, BasePathGoesBeforePathsOnly) {
  base_path = "/v1";
  EXPECT_EQ(forward("GET /a?b HTTP/1.1\r\nHost: a\r\n\r\n").target, "/v1/a?b");
  EXPECT_EQ(forward("GET http://a/x HTTP/1.1\r\nHost: a\r\n\r\n").target, "/v1/x");
  EXPECT_EQ(forward("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").target, "*");
}

TEST_F(Forward, HopByHopFieldsAreLeftOut) {
  forward(
      "POST / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, x-private ,TE\r\n"
      "Connection: X-Also\r\nKeep-Alive: timeout=5\r\nX-Private: 1\r\nX-Also: 2\r\n"
      "TE: trailers\r\nTrailer: X\r\nUpgrade: websocket\r\nProxy-Authorization: secret\r\n"
      "Proxy-Connection: keep-alive\r\nX-Kept: 3\r\n\r\n");
  for (std::string_view name :
       {"Connection", "Keep-Alive", "X-Private", "X-Also", "TE", "Trailer", "Upgrade",
        "Proxy-Authorization", "Proxy-Connection", "Transfer-Encoding"}) {
    EXPECT_EQ(values(name), Values{}) << name;
  }
  EXPECT_EQ(values("X-Kept"), Values{"3"});
}

TEST_F(Forward, ConnectionCannotTakeAwayHostOrWhatTheGatewayWrites) {
  const ForwardedKey sent{"Idempotency-Key", "k", 1};
  key = &sent;
  framing = {http::Framing::Kind::sized, 2};
  forward(
      "POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 2\r\n"
      "Connection: host, idempotency-key, idempotency-attempt, content-length, traceparent, "
      "x-forwarded-for\r\n\r\nhi");
  EXPECT_EQ(values("Host"), Values{"a"});
  EXPECT_EQ(values("Idempotency-Key"), Values{"k"});
  EXPECT_EQ(values("Idempotency-Attempt"), Values{"1"});
  EXPECT_EQ(values("Content-Length"), Values{"2"});
  EXPECT_EQ(values("traceparent").size(), 1u);
  EXPECT_EQ(values("X-Forwarded-For"), Values{"10.0.0.9"});
}

TEST_F(Forward, FramingIsWrittenAnew) {
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n";
  framing = {http::Framing::Kind::sized, 2};
  forward(chunked);
  EXPECT_EQ(values("Content-Length"), Values{"2"});
  EXPECT_EQ(values("Transfer-Encoding"), Values{});
  framing = {http::Framing::Kind::chunked, 0};
  forward("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(values("Content-Length"), Values{});
  EXPECT_EQ(values("Transfer-Encoding"), Values{"chunked"});
  framing = {};
  forward("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(values("Content-Length"), Values{});
}

TEST_F(Forward, ExpectationIsAnsweredHereAndNotPassedOn) {
  forward("POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi");
  EXPECT_EQ(values("Expect"), Values{});
}

TEST_F(Forward, KeyIsReplacedByTheOneThatWasReserved) {
  const ForwardedKey sent{"X-Idempotency-Key", "\"the key\"", 3};
  key = &sent;
  forward(
      "POST / HTTP/1.1\r\nHost: a\r\nx-idempotency-key: other\r\n"
      "X-IDEMPOTENCY-KEY: another\r\nIdempotency-Key: not this route's\r\n\r\n");
  EXPECT_EQ(values("X-Idempotency-Key"), Values{"\"the key\""});
  EXPECT_EQ(values("Idempotency-Key"), Values{"not this route's"});
  EXPECT_EQ(values("Idempotency-Attempt"), Values{"3"});
}

TEST_F(Forward, AttemptOfTheClientIsNeverBelieved) {
  const std::string spoofed =
      "POST / HTTP/1.1\r\nHost: a\r\nIdempotency-Attempt: 9\r\nidempotency-attempt: 8\r\n\r\n";
  forward(spoofed);
  EXPECT_EQ(values("Idempotency-Attempt"), Values{});
  const ForwardedKey sent{"Idempotency-Key", "k", 1};
  key = &sent;
  forward(spoofed);
  EXPECT_EQ(values("Idempotency-Attempt"), Values{"1"});
}

TEST_F(Forward, ForwardedFieldsOfTheClientAreReplaced) {
  forward(
      "POST / HTTP/1.1\r\nHost: api.example\r\nForwarded: for=1.2.3.4\r\n"
      "X-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: evil\r\nX-Forwarded-Proto: https\r\n\r\n");
  EXPECT_EQ(values("Forwarded"), Values{"for=10.0.0.9;host=api.example;proto=http"});
  EXPECT_EQ(values("X-Forwarded-For"), Values{"10.0.0.9"});
  EXPECT_EQ(values("X-Forwarded-Host"), Values{"api.example"});
  EXPECT_EQ(values("X-Forwarded-Proto"), Values{"http"});
}

TEST_F(Forward, TrustedForwardedFieldsAreContinued) {
  config.trust_forwarded = true;
  forward(
      "POST / HTTP/1.1\r\nHost: inner\r\nForwarded: for=1.2.3.4\r\nForwarded: for=5.6.7.8\r\n"
      "X-Forwarded-For: 1.2.3.4, 5.6.7.8\r\nX-Forwarded-Host: outer\r\n"
      "X-Forwarded-Proto: https\r\n\r\n");
  EXPECT_EQ(values("Forwarded"),
            Values{"for=1.2.3.4, for=5.6.7.8, for=10.0.0.9;host=inner;proto=http"});
  EXPECT_EQ(values("X-Forwarded-For"), Values{"1.2.3.4, 5.6.7.8, 10.0.0.9"});
  EXPECT_EQ(values("X-Forwarded-Host"), Values{"outer"});
  EXPECT_EQ(values("X-Forwarded-Proto"), Values{"https"});
}

TEST_F(Forward, AddressesWithColonsAreQuotedInForwarded) {
  peer = "2001:db8::7";
  forward("POST / HTTP/1.1\r\nHost: a:8080\r\n\r\n");
  EXPECT_EQ(values("Forwarded"), Values{"for=\"[2001:db8::7]\";host=\"a:8080\";proto=http"});
  EXPECT_EQ(values("X-Forwarded-For"), Values{"2001:db8::7"});
}

TEST_F(Forward, SwitchedOffForwardedFieldsAreTheClientsOwn) {
  config.forwarded = false;
  forward("POST / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.2.3.4\r\n\r\n");
  EXPECT_EQ(values("X-Forwarded-For"), Values{"1.2.3.4"});
  EXPECT_EQ(values("Forwarded"), Values{});
}

TEST_F(Forward, OldRequestWithoutHostGetsAnEmptyOne) {
  forward("GET / HTTP/1.0\r\n\r\n");
  EXPECT_EQ(values("Host"), Values{""});
  EXPECT_EQ(values("X-Forwarded-Host"), Values{});
}

TEST_F(Forward, UpgradeKeepsWhatItNeeds) {
  upgrade = true;
  forward(
      "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, Upgrade\r\n"
      "Upgrade: websocket\r\nKeep-Alive: 5\r\nSec-WebSocket-Key: x\r\n\r\n");
  EXPECT_EQ(values("Upgrade"), Values{"websocket"});
  EXPECT_EQ(values("Connection"), Values{"Upgrade"});
  EXPECT_EQ(values("Keep-Alive"), Values{});
  EXPECT_EQ(values("Sec-WebSocket-Key"), Values{"x"});
}

TEST(RelayedFields, OnlyWhatIsMeantForTheClientPasses) {
  http::ResponseHead head;
  ASSERT_FALSE(head.parse(
      "HTTP/1.1 201 Created\r\nLocation: /1\r\nContent-Length: 5\r\nConnection: close, X-Hop\r\n"
      "X-Hop: 1\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\nSet-Cookie: a\r\n"
      "Set-Cookie: b\r\nIdempotency-Outcome: executed\r\nUpgrade: h2c\r\nTrailer: X\r\n\r\n",
      {}));
  std::string out;
  append_relayed_fields(out, head);
  EXPECT_EQ(out, "Location: /1\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n");
}

}  // namespace
}  // namespace oncekey::gateway
