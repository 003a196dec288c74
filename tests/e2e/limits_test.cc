// Limits and time limits: nobody can make the gateway hold more, or longer, than configured.
#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class LimitsAtTheGateway : public GatewayFixture {};

TEST_F(LimitsAtTheGateway, BodyBeyondTheRoutesLimitIsRefusedInEitherFraming) {
  serve("[[route]]\nmatch = \"POST /orders\"\nbody_limit = \"1KiB\"\n");
  HttpRequest request = order(key_a, "", std::string(1025, 'b'));
  for (bool chunked : {false, true}) {
    request.chunked = chunked;
    HttpResponse response = gateway_->send(request);
    EXPECT_EQ(response.status, 413);
    EXPECT_EQ(code(response), "body_too_large");
  }
  EXPECT_EQ(upstream_.audit().size(), 0u);
  EXPECT_EQ(post(key_a, "", std::string(1024, 'b')).status, 201);
}

TEST_F(LimitsAtTheGateway, DeclaredLengthIsRefusedBeforeTheBodyIsSent) {
  serve();
  HttpConnection connection(gateway_->port());
  connection.send("POST /orders HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: " + key_a +
                  "\r\nContent-Length: 999999999999\r\n\r\n");
  EXPECT_EQ(connection.receive().status, 413);
  EXPECT_TRUE(connection.ends());
}

TEST_F(LimitsAtTheGateway, KeyIsAsLongAsTheRouteAllows) {
  serve("[[route]]\nmatch = \"POST *\"\nkey_min_length = 4\nkey_max_length = 8\n");
  for (const std::string& key : {std::string(3, 'k'), std::string(9, 'k'), std::string(256, 'k')}) {
    HttpResponse response = post(key);
    EXPECT_EQ(response.status, 400) << key.size();
    EXPECT_EQ(code(response), "idempotency_key_invalid");
  }
  EXPECT_EQ(upstream_.audit().size(), 0u);
  EXPECT_EQ(post("four").status, 201);
  EXPECT_EQ(post("eight888").status, 201);
}

TEST_F(LimitsAtTheGateway, AnswerBeyondTheRoutesLimitIsPassedOnButNotKept) {
  serve("[[route]]\nmatch = \"POST *\"\nresponse_limit = \"1KiB\"\n");
  HttpResponse large = post(key_a, "size=1025");
  EXPECT_EQ(large.status, 201);
  EXPECT_EQ(large.body.size(), 1025u);
  HttpResponse retry = post(key_a, "size=1025");
  EXPECT_EQ(retry.status, 410);
  EXPECT_EQ(code(retry), "result_expired");
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(post(key_b, "size=1024").body, post(key_b).body);
}

TEST_F(LimitsAtTheGateway, HeaderBlockAndCountAreConfigurable) {
  serve("[limits]\nheader_block = \"1KiB\"\nheader_count = 10\n");
  HttpRequest large{.method = "GET"};
  large.with("X-Large", std::string(1100, 'x'));
  EXPECT_EQ(gateway_->send(large).status, 431);
  HttpRequest many{.method = "GET"};
  for (int i = 0; i < 11; ++i) many.with("X-" + std::to_string(i), "v");
  EXPECT_EQ(gateway_->send(many).status, 431);
  EXPECT_EQ(upstream_.audit().size(), 0u);
  EXPECT_EQ(gateway_->send({.method = "GET"}).status, 201);
}

TEST_F(LimitsAtTheGateway, ConnectionsBeyondTheCapAreTurnedAwayAndRoomReturns) {
  serve("threads = 1\n[limits]\nconnections = 20\n");
  std::vector<std::unique_ptr<HttpConnection>> open;
  for (int i = 0; i < 20; ++i) {
    open.push_back(std::make_unique<HttpConnection>(gateway_->port()));
    ASSERT_EQ(open.back()->exchange({.method = "GET"}).status, 201);
  }
  {
    HttpConnection one_more(gateway_->port());
    one_more.send(HttpRequest{.method = "GET"}.bytes());
    HttpResponse response = one_more.receive();
    EXPECT_TRUE(response.status == 503 || response.status == 0) << response.status;
    EXPECT_NE(response.failure, "no complete answer in time");
  }
  EXPECT_EQ(open[0]->exchange({.method = "GET"}).status, 201);
  open.clear();
  EXPECT_TRUE(eventually([this] { return gateway_->send({.method = "GET"}).status == 201; }))
      << "closed connections are still counted";
}

TEST_F(LimitsAtTheGateway, SlowHeadIsCutOffAndOthersAreServedMeanwhile) {
  serve("[timeouts]\nheader = \"200ms\"\n");
  HttpConnection slow(gateway_->port());
  slow.send("POST /orders HTTP/1.1\r\nHost: shop");
  EXPECT_EQ(post(key_a).status, 201);
  HttpResponse response = slow.receive();
  EXPECT_TRUE(response.status == 408 || response.failure.starts_with("closed")) << response.failure;
  EXPECT_TRUE(slow.ends());
}

TEST_F(LimitsAtTheGateway, TrickledHeadDoesNotExtendItsTime) {
  serve("[timeouts]\nheader = \"300ms\"\n");
  HttpConnection slow(gateway_->port());
  Deadline limit = deadline_in(Milliseconds(5000));
  slow.send("GET / HTTP/1.1\r\n");
  while (std::chrono::steady_clock::now() < limit && slow.send("X-Trickle: 1\r\n")) {
    let_time_pass(Milliseconds(20));
  }
  EXPECT_LT(std::chrono::steady_clock::now(), limit) << "a trickle holds the connection for ever";
}

TEST_F(LimitsAtTheGateway, SlowBodyIsCutOffAndNothingIsReserved) {
  serve("[timeouts]\nbody = \"200ms\"\n");
  HttpConnection slow(gateway_->port());
  std::string bytes = order(key_a).bytes();
  slow.send(bytes.substr(0, bytes.size() - 3));
  HttpResponse response = slow.receive();
  EXPECT_TRUE(response.status == 408 || response.failure.starts_with("closed")) << response.failure;
  EXPECT_TRUE(slow.ends());
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(LimitsAtTheGateway, IdleConnectionIsClosed) {
  serve("[timeouts]\nidle = \"200ms\"\n");
  HttpConnection connection(gateway_->port());
  EXPECT_EQ(connection.exchange({.method = "GET"}).status, 201);
  EXPECT_TRUE(connection.ends());
}

TEST_F(LimitsAtTheGateway, HundredsOfSlowClientsDoNotHoldUpAQuickOne) {
  serve();
  std::vector<std::unique_ptr<HttpConnection>> slow;
  for (int i = 0; i < 300; ++i) {
    slow.push_back(std::make_unique<HttpConnection>(gateway_->port()));
    slow.back()->send(
        "POST /orders HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: slow-client-" +
        std::to_string(1000 + i) + "\r\nContent-Length: 100\r\n\r\n{");
  }
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(post("quick-client-" + std::to_string(1000 + i)).status, 201);
  }
}

}  // namespace
}  // namespace oncekey::test
