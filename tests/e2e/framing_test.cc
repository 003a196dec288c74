// X4: a request that two implementations could read in two ways is refused and the connection is
// closed, before anything reaches the upstream.
#include <span>

#include "e2e/gateway_fixture.h"

namespace oncekey::test {
namespace {

using std::string_literals::operator""s;

struct Hostile {
  const char* what;
  std::string bytes;
  int also_allowed = 0;  // besides 400
};

// A request whose key is fine, so that nothing but its framing can be the reason of a refusal.
std::string keyed_post(const std::string& fields_and_body) {
  return "POST /orders HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: " + key_a + "\r\n" +
         fields_and_body;
}

std::string get(const std::string& request_line, const std::string& fields = "") {
  return request_line + "\r\nHost: shop.example\r\n" + fields + "\r\n";
}

std::string chunked(const std::string& body) {
  return keyed_post("Transfer-Encoding: chunked\r\n\r\n" + body);
}

class FramingGuard : public GatewayFixture {
 protected:
  void expect_refused(std::span<const Hostile> table) {
    serve();
    for (const Hostile& row : table) {
      SCOPED_TRACE(row.what);
      HttpConnection connection(gateway_->port());
      connection.send(row.bytes);
      connection.socket().finish_sending();  // whatever it still waits for does not come
      HttpResponse response = connection.receive();
      EXPECT_TRUE(response.status == 400 ||
                  (row.also_allowed != 0 && response.status == row.also_allowed))
          << response.status << " " << response.failure << " " << response.body;
      EXPECT_TRUE(connection.ends()) << "the connection stays open, or a second answer came";
    }
    EXPECT_EQ(upstream_.audit().size(), 0u);
    EXPECT_EQ(upstream_.incomplete(), 0u) << "a part of a request reached the upstream";
    for (const Arrival& arrival : upstream_.audit().all()) {
      ADD_FAILURE() << "reached the upstream: " << arrival.request.start_line;
    }
    EXPECT_EQ(gateway_->send(order(key_b)).status, 201) << "the gateway no longer serves";
  }
};

TEST_F(FramingGuard, AmbiguousLengthsAreRefused) {
  const Hostile table[] = {
      {"length and chunked",
       keyed_post("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
      {"chunked and length",
       keyed_post("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n")},
      {"length zero and chunked",
       keyed_post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")},
      {"equal lengths twice", keyed_post("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}")},
      {"different lengths", keyed_post("Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x")},
      {"list of equal lengths", keyed_post("Content-Length: 2, 2\r\n\r\n{}")},
      {"list of different lengths", keyed_post("Content-Length: 2, 3\r\n\r\n{}x")},
      {"length with plus", keyed_post("Content-Length: +2\r\n\r\n{}")},
      {"length with minus", keyed_post("Content-Length: -2\r\n\r\n{}")},
      {"length with a blank inside", keyed_post("Content-Length: 1 0\r\n\r\n{}12345678")},
      {"hexadecimal length", keyed_post("Content-Length: 0x2\r\n\r\n{}")},
      {"length with a letter", keyed_post("Content-Length: 2a\r\n\r\n{}")},
      {"length with a fraction", keyed_post("Content-Length: 2.0\r\n\r\n{}")},
      {"length with an exponent", keyed_post("Content-Length: 1e1\r\n\r\n{}12345678")},
      {"empty length", keyed_post("Content-Length:\r\n\r\n{}")},
      {"length beyond 64 bits", keyed_post("Content-Length: 18446744073709551618\r\n\r\n{}"), 413},
      {"length with many digits",
       keyed_post("Content-Length: 1" + std::string(80, '0') + "\r\n\r\n{}"), 413},
      {"quoted length", keyed_post("Content-Length: \"2\"\r\n\r\n{}")},
      {"length with a vertical tab", keyed_post("Content-Length: \v2\r\n\r\n{}")},
      {"length with a semicolon", keyed_post("Content-Length: 2;\r\n\r\n{}")},
      {"length under a name with a blank", keyed_post("Content-Length : 2\r\n\r\n{}")},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, OddTransferCodingsAreRefused) {
  const std::string none = "\r\n0\r\n\r\n";
  const Hostile table[] = {
      {"xchunked", keyed_post("Transfer-Encoding: xchunked\r\n" + none), 501},
      {"chunked twice in a list", keyed_post("Transfer-Encoding: chunked, chunked\r\n" + none),
       501},
      {"chunked then gzip", keyed_post("Transfer-Encoding: chunked, gzip\r\n" + none), 501},
      {"gzip then chunked", keyed_post("Transfer-Encoding: gzip, chunked\r\n" + none), 501},
      {"identity", keyed_post("Transfer-Encoding: identity\r\n" + none), 501},
      {"identity, chunked", keyed_post("Transfer-Encoding: identity, chunked\r\n" + none), 501},
      {"empty coding", keyed_post("Transfer-Encoding:\r\n" + none), 501},
      {"comma only", keyed_post("Transfer-Encoding: ,\r\n" + none), 501},
      {"comma before chunked", keyed_post("Transfer-Encoding: , chunked\r\n" + none), 501},
      {"vertical tab before chunked", keyed_post("Transfer-Encoding: \vchunked\r\n" + none)},
      {"form feed after chunked", keyed_post("Transfer-Encoding: chunked\f\r\n" + none)},
      {"quoted chunked", keyed_post("Transfer-Encoding: \"chunked\"\r\n" + none), 501},
      {"chunked with a parameter", keyed_post("Transfer-Encoding: chunked;a=b\r\n" + none), 501},
      {"two lines",
       keyed_post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n" + none)},
      {"two lines, the second identity",
       keyed_post("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n" + none), 501},
      {"name with a blank", keyed_post("Transfer-Encoding : chunked\r\n" + none)},
      {"name with a tab", keyed_post("Transfer-Encoding\t: chunked\r\n" + none)},
      {"in HTTP/1.0", "POST /orders HTTP/1.0\r\nHost: shop.example\r\nIdempotency-Key: " + key_a +
                          "\r\nTransfer-Encoding: chunked\r\n" + none},
      {"folded coding", keyed_post("Transfer-Encoding:\r\n chunked\r\n" + none)},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, MalformedHeaderLinesAreRefused) {
  const Hostile table[] = {
      {"folded with a blank", keyed_post("X-Long: one\r\n two\r\nContent-Length: 0\r\n\r\n")},
      {"folded with a tab", keyed_post("X-Long: one\r\n\ttwo\r\nContent-Length: 0\r\n\r\n")},
      {"first line folded",
       "POST /orders HTTP/1.1\r\n Host: shop.example\r\nHost: shop.example\r\n\r\n"},
      {"bare LF ends a line", keyed_post("X-A: 1\nContent-Length: 0\r\n\r\n")},
      {"bare LF ends the request line", "POST /orders HTTP/1.1\nHost: shop.example\r\n\r\n"},
      {"bare LF ends the head", keyed_post("Content-Length: 0\r\n\n")},
      {"only LF throughout", "POST /orders HTTP/1.1\nHost: shop.example\nContent-Length: 0\n\n"},
      {"bare CR in a value", keyed_post("X-A: 1\rX-B: 2\r\nContent-Length: 0\r\n\r\n")},
      {"bare CR ends a line", keyed_post("X-A: 1\rContent-Length: 0\r\n\r\n")},
      {"CR CR LF", keyed_post("X-A: 1\r\r\nContent-Length: 0\r\n\r\n")},
      {"blank before the colon", keyed_post("X-A : 1\r\nContent-Length: 0\r\n\r\n")},
      {"empty name", keyed_post(": 1\r\nContent-Length: 0\r\n\r\n")},
      {"no colon", keyed_post("X-A\r\nContent-Length: 0\r\n\r\n")},
      {"blank in a name", keyed_post("X A: 1\r\nContent-Length: 0\r\n\r\n")},
      {"control character in a name", keyed_post("X\x01"
                                                 "A: 1\r\nContent-Length: 0\r\n\r\n")},
      {"separator in a name", keyed_post("X(A): 1\r\nContent-Length: 0\r\n\r\n")},
      {"non-ASCII name", keyed_post("X-\xc3\xa9: 1\r\nContent-Length: 0\r\n\r\n")},
      {"NUL in a name", keyed_post("X\0A: 1\r\nContent-Length: 0\r\n\r\n"s)},
      {"NUL in a value", keyed_post("X-A: 1\0"
                                    "2\r\nContent-Length: 0\r\n\r\n"s)},
      {"control character in a value", keyed_post("X-A: 1\x02"
                                                  "2\r\nContent-Length: 0\r\n\r\n")},
      {"DEL in a value", keyed_post("X-A: 1\x7f"
                                    "2\r\nContent-Length: 0\r\n\r\n")},
      {"escape in a value", keyed_post("X-A: \x1b[31m\r\nContent-Length: 0\r\n\r\n")},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, WrongHostsAreRefused) {
  const Hostile table[] = {
      {"no Host", "GET / HTTP/1.1\r\n\r\n"},
      {"two Hosts", get("GET / HTTP/1.1", "Host: shop.example\r\n")},
      {"two different Hosts", get("GET / HTTP/1.1", "Host: evil.example\r\n")},
      {"Host with a path", "GET / HTTP/1.1\r\nHost: shop.example/x\r\n\r\n"},
      {"Host with a user", "GET / HTTP/1.1\r\nHost: a@shop.example\r\n\r\n"},
      {"Host list", "GET / HTTP/1.1\r\nHost: a.example, b.example\r\n\r\n"},
      {"Host with a blank", "GET / HTTP/1.1\r\nHost: a example\r\n\r\n"},
      {"Host with a bad port", "GET / HTTP/1.1\r\nHost: shop.example:80a\r\n\r\n"},
      {"Host with two ports", "GET / HTTP/1.1\r\nHost: shop.example:80:81\r\n\r\n"},
      {"Host with an open bracket", "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n"},
      {"absolute target of another host", get("GET http://evil.example/ HTTP/1.1")},
      {"absolute target with a user", get("GET http://a@shop.example/ HTTP/1.1")},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, MalformedRequestLinesAreRefused) {
  const Hostile table[] = {
      {"HTTP/1.2", get("GET / HTTP/1.2"), 505},
      {"HTTP/2.0", get("GET / HTTP/2.0"), 505},
      {"HTTP/0.9", get("GET / HTTP/0.9"), 505},
      {"HTTP/1.10", get("GET / HTTP/1.10"), 505},
      {"HTTP/11", get("GET / HTTP/11"), 505},
      {"lower-case version", get("GET / http/1.1"), 505},
      {"other protocol", get("GET / ICY/1.1"), 505},
      {"no version", get("GET /"), 505},
      {"HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
      {"lower-case method", get("get / HTTP/1.1")},
      {"mixed-case method", get("Post /orders HTTP/1.1")},
      {"method with a separator", get("GE(T / HTTP/1.1")},
      {"method with a control character", get("GE\x01T / HTTP/1.1")},
      {"empty method", get(" / HTTP/1.1")},
      {"blank before the method", get(" GET / HTTP/1.1")},
      {"two blanks after the method", get("GET  / HTTP/1.1")},
      {"two blanks before the version", get("GET /  HTTP/1.1")},
      {"blank after the version", get("GET / HTTP/1.1 ")},
      {"tab instead of a blank", get("GET\t/\tHTTP/1.1")},
      {"blank in the target", get("GET /a b HTTP/1.1")},
      {"fragment in the target", get("GET /a#b HTTP/1.1")},
      {"non-ASCII target", get("GET /caf\xc3\xa9 HTTP/1.1")},
      {"control character in the target", get("GET /a\x01 HTTP/1.1")},
      {"NUL in the target", "GET /a\0b HTTP/1.1\r\nHost: shop.example\r\n\r\n"s},
      {"relative target", get("GET orders HTTP/1.1")},
      {"asterisk with GET", get("GET * HTTP/1.1")},
      {"other scheme", get("GET ftp://shop.example/ HTTP/1.1")},
      {"three empty lines first", "\r\n\r\n\r\n" + get("GET / HTTP/1.1")},
      {"TLS hello on a plain port", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n"s},
      {"junk", "\x01\x02\x03\r\n\r\n"},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, BrokenChunksAreRefused) {
  const Hostile table[] = {
      {"negative size", chunked("-2\r\n{}\r\n0\r\n\r\n")},
      {"size with plus", chunked("+2\r\n{}\r\n0\r\n\r\n")},
      {"size with 0x", chunked("0x2\r\n{}\r\n0\r\n\r\n")},
      {"size that is no number", chunked("zz\r\n{}\r\n0\r\n\r\n")},
      {"empty size", chunked("\r\n{}\r\n0\r\n\r\n")},
      {"size beyond 64 bits", chunked("10000000000000002\r\n{}\r\n0\r\n\r\n"), 413},
      {"size of many digits", chunked(std::string(40, 'f') + "\r\n{}\r\n0\r\n\r\n"), 413},
      {"blank before the size", chunked(" 2\r\n{}\r\n0\r\n\r\n")},
      {"blank inside the size", chunked("0 2\r\n{}\r\n0\r\n\r\n")},
      {"bare LF after the size", chunked("2\n{}\r\n0\r\n\r\n")},
      {"bare CR after the size", chunked("2\r{}\r\n0\r\n\r\n")},
      {"no CRLF after the data", chunked("2\r\n{}0\r\n\r\n")},
      {"bare LF after the data", chunked("2\r\n{}\n0\r\n\r\n")},
      {"more data than the size", chunked("2\r\n{}}\r\n0\r\n\r\n")},
      {"huge extension", chunked("2;a=" + std::string(100'000, 'x') + "\r\n{}\r\n0\r\n\r\n"), 431},
      {"NUL in an extension", chunked("2;a=\0\r\n{}\r\n0\r\n\r\n"s)},
      {"bare CR in an extension", chunked("2;a\rb\r\n{}\r\n0\r\n\r\n")},
      {"size followed by junk", chunked("2 junk\r\n{}\r\n0\r\n\r\n")},
      {"trailer Content-Length", chunked("2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n")},
      {"trailer Transfer-Encoding", chunked("2\r\n{}\r\n0\r\nTransfer-Encoding: gzip\r\n\r\n")},
      {"trailer Host", chunked("2\r\n{}\r\n0\r\nHost: evil.example\r\n\r\n")},
      {"trailer Idempotency-Key",
       chunked("2\r\n{}\r\n0\r\nIdempotency-Key: other-key-0123456\r\n\r\n")},
      {"trailer Authorization", chunked("2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\n\r\n")},
      {"trailer without colon", chunked("2\r\n{}\r\n0\r\nnonsense\r\n\r\n")},
      {"folded trailer", chunked("2\r\n{}\r\n0\r\nX-A: 1\r\n 2\r\n\r\n")},
      {"bare LF in the trailers", chunked("2\r\n{}\r\n0\r\nX-A: 1\n\r\n")},
      {"endless trailers",
       chunked("0\r\n" +
               [] {
                 std::string lines;
                 for (int i = 0; i < 5000; ++i)
                   lines += "X-Trailer: " + std::string(40, 'x') + "\r\n";
                 return lines;
               }() +
               "\r\n"),
       431},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, OversizeHeadsAreRefused) {
  std::string many;
  for (int i = 0; i < 200; ++i) many += "X-Header-" + std::to_string(i) + ": v\r\n";
  const Hostile table[] = {
      {"long target", get("GET /" + std::string(100'000, 'a') + " HTTP/1.1"), 431},
      {"long value", get("GET / HTTP/1.1", "X-Long: " + std::string(100'000, 'a') + "\r\n"), 431},
      {"long name", get("GET / HTTP/1.1", std::string(100'000, 'a') + ": v\r\n"), 431},
      {"many lines", get("GET / HTTP/1.1", many), 431},
      {"a line without end", "GET /" + std::string(200'000, 'a'), 431},
  };
  expect_refused(table);
}

TEST_F(FramingGuard, BytesAfterARefusedRequestAreNotServed) {
  serve();
  HttpConnection connection(gateway_->port());
  connection.send(keyed_post("Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") +
                  get("GET /smuggled HTTP/1.1"));
  EXPECT_EQ(connection.receive().status, 400);
  EXPECT_TRUE(connection.ends());
  EXPECT_EQ(upstream_.audit().size(), 0u);
}

TEST_F(FramingGuard, UnprotectedBodyThatBreaksOffIsNotCompletedTowardsTheUpstream) {
  serve();
  HttpConnection connection(gateway_->port());
  connection.send(
      "PUT /files/1 HTTP/1.1\r\nHost: shop.example\r\nTransfer-Encoding: chunked\r\n\r\n"
      "5\r\nhello\r\nzz\r\n");
  connection.receive();
  EXPECT_TRUE(connection.ends());
  EXPECT_EQ(upstream_.audit().size(), 0u) << "a broken body was forwarded as a complete one";
}

struct Legal {
  const char* what;
  std::string bytes;  // {KEY} becomes a fresh key
};

TEST_F(FramingGuard, UnusualButLegalRequestsPass) {
  serve();
  const std::string head =
      "POST /orders HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: {KEY}\r\n";
  const Legal table[] = {
      {"empty line first", "\r\n" + head + "Content-Length: 2\r\n\r\n{}"},
      {"two empty lines first", "\r\n\r\n" + head + "Content-Length: 2\r\n\r\n{}"},
      {"no blank after the colon", head + "Content-Length:2\r\n\r\n{}"},
      {"blanks and tabs around a value", head + "Content-Length: \t 2 \t\r\n\r\n{}"},
      {"leading zeros in the length", head + "Content-Length: 0002\r\n\r\n{}"},
      {"lower-case names",
       "POST /orders HTTP/1.1\r\nhost: shop.example\r\nidempotency-key: {KEY}\r\n"
       "content-length: 2\r\n\r\n{}"},
      {"upper-case names",
       "POST /orders HTTP/1.1\r\nHOST: shop.example\r\nIDEMPOTENCY-KEY: {KEY}\r\n"
       "CONTENT-LENGTH: 2\r\n\r\n{}"},
      {"empty value", head + "X-Empty:\r\nContent-Length: 2\r\n\r\n{}"},
      {"obs-text in a value", head + "X-Text: caf\xc3\xa9 \xff\r\nContent-Length: 2\r\n\r\n{}"},
      {"every token character in a name",
       head + "X!#$%&'*+-.^_`|~09: v\r\nContent-Length: 2\r\n\r\n{}"},
      {"absolute form",
       "POST http://shop.example/orders HTTP/1.1\r\nHost: shop.example\r\nIdempotency-Key: "
       "{KEY}\r\n"
       "Content-Length: 2\r\n\r\n{}"},
      {"Host with a port",
       "POST /orders HTTP/1.1\r\nHost: shop.example:8080\r\nIdempotency-Key: {KEY}\r\n"
       "Content-Length: 2\r\n\r\n{}"},
      {"IPv6 Host",
       "POST /orders HTTP/1.1\r\nHost: [::1]:8080\r\nIdempotency-Key: {KEY}\r\n"
       "Content-Length: 2\r\n\r\n{}"},
      {"HTTP/1.0 with a length",
       "POST /orders HTTP/1.0\r\nIdempotency-Key: {KEY}\r\nContent-Length: 2\r\n\r\n{}"},
      {"chunked in capitals", head + "Transfer-Encoding: CHUNKED\r\n\r\n2\r\n{}\r\n0\r\n\r\n"},
      {"chunk extensions",
       head + "Transfer-Encoding: chunked\r\n\r\n2;a=b;c=\"d e\"\r\n{}\r\n0;last\r\n\r\n"},
      {"leading zeros in a chunk's size",
       head + "Transfer-Encoding: chunked\r\n\r\n0002\r\n{}\r\n000\r\n\r\n"},
      {"capitals in a chunk's size",
       head + "Transfer-Encoding: chunked\r\n\r\nA\r\n{\"a\":1234}\r\n0\r\n\r\n"},
      {"harmless trailer",
       head + "Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Checksum: 12\r\n\r\n"},
      {"empty chunked body", head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"},
      {"no body at all", head + "\r\n"},
      {"query with odd but legal characters",
       "POST /orders?a=%20&b[]=1&c='x'&d=~!$()*,;:@/? HTTP/1.1\r\nHost: shop.example\r\n"
       "Idempotency-Key: {KEY}\r\nContent-Length: 2\r\n\r\n{}"},
      {"a value of 20,000 characters",
       head + "X-Long: " + std::string(20'000, 'a') + "\r\nContent-Length: 2\r\n\r\n{}"},
      {"a target of 8,000 characters", "POST /" + std::string(8'000, 'a') +
                                           " HTTP/1.1\r\nHost: shop.example\r\n" +
                                           "Idempotency-Key: {KEY}\r\nContent-Length: 2\r\n\r\n{}"},
  };
  int number = 0;
  for (const Legal& row : table) {
    SCOPED_TRACE(row.what);
    std::string key = "legal-but-unusual-" + std::to_string(++number);
    std::string bytes = row.bytes;
    bytes.replace(bytes.find("{KEY}"), 5, key);
    HttpConnection connection(gateway_->port());
    connection.send(bytes);
    HttpResponse response = connection.receive();
    EXPECT_EQ(response.status, 201) << response.failure << response.body;
    EXPECT_EQ(arrivals(key), 1u);
  }
}

}  // namespace
}  // namespace oncekey::test
