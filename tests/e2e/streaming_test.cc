// Large unprotected bodies pass without being held.
#include <thread>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

class Streaming : public GatewayFixture {
 protected:
  static constexpr std::size_t large = 64 << 20;
  static constexpr std::size_t growth_max = 16 << 20;
};

TEST_F(Streaming, LargeDownloadPassesWithoutBeingHeld) {
  serve();
  std::size_t before = resident_bytes(gateway_->process().pid());
  for (const char* framing : {"", " chunked"}) {
    HttpConnection connection(gateway_->port());
    HttpRequest get{.method = "GET", .target = "/export"};
    get.with(std::string(behaviour_header), "size=" + std::to_string(large) + framing);
    connection.send(get.bytes());
    HttpResponse response = connection.receive(false, patience, 0);
    ASSERT_EQ(response.status, 201) << response.failure;
    EXPECT_EQ(response.body_size, large);
    EXPECT_EQ(response.body_checksum, checksum(upstream_.audit().all().back().answer));
  }
  EXPECT_LT(resident_bytes(gateway_->process().pid()), before + growth_max);
}

TEST_F(Streaming, LargeUploadPassesWithoutBeingHeld) {
  serve();
  std::size_t before = resident_bytes(gateway_->process().pid());
  HttpRequest put{.method = "PUT", .target = "/import", .body = made_body(large, false, 1)};
  for (bool chunked : {false, true}) {
    put.chunked = chunked;
    ASSERT_EQ(gateway_->send(put).status, 201);
    HttpMessage seen = upstream_.audit().all().back().request;
    EXPECT_EQ(seen.body_size, large);
    EXPECT_EQ(seen.body_checksum, checksum(put.body));
  }
  EXPECT_LT(resident_bytes(gateway_->process().pid()), before + growth_max);
}

// The upstream would take the next request for the rest of the body.
TEST_F(Streaming, ConnectionWithHalfABodyIsNotUsedAgain) {
  serve("threads = 1\n[[route]]\nmatch = \"PUT *\"\nkey = \"off\"\nupstream_timeout = \"300ms\"\n");
  HttpRequest put{.method = "PUT", .target = "/import", .body = made_body(large, false, 1)};
  put.with(std::string(behaviour_header), "answer-at-head hold=rest status=413");
  HttpConnection client(gateway_->port());
  const std::string bytes = put.bytes();
  std::jthread sender([&] { client.socket().send(bytes); });
  EXPECT_TRUE(
      eventually([&] { return gateway_->metric("oncekey_requests_total", "passed") == 1; }));
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(arrivals(key_a), 1u);
  upstream_.open_gate("rest");
}

TEST_F(Streaming, FirstBytesPassBeforeTheLastAreThere) {
  serve();
  HttpConnection connection(gateway_->port());
  connection.send("PUT /import HTTP/1.1\r\nHost: shop.example\r\nTransfer-Encoding: chunked\r\n" +
                  std::string(behaviour_header) + ": reset-at-head\r\n\r\n5\r\nhello\r\n");
  EXPECT_TRUE(upstream_.audit().wait_for_arrivals(1)) << "the head waits for the body's end";
}

TEST_F(Streaming, ReaderThatStopsDoesNotMakeTheGatewayHoldTheAnswer) {
  serve();
  std::size_t before = resident_bytes(gateway_->process().pid());
  HttpConnection stalled(gateway_->port());
  HttpRequest get{.method = "GET", .target = "/export"};
  get.with(std::string(behaviour_header), "size=" + std::to_string(large));
  stalled.send(get.bytes());
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(1));
  for (int i = 0; i < 50; ++i) {  // others are served meanwhile, on every thread
    ASSERT_EQ(post("beside-a-stalled-" + std::to_string(100 + i)).status, 201);
  }
  EXPECT_LT(resident_bytes(gateway_->process().pid()), before + growth_max);
  HttpResponse response = stalled.receive(false, patience, 0);
  EXPECT_EQ(response.body_size, large);
}

}  // namespace
}  // namespace oncekey::test
