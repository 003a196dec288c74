#include "http/head.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace oncekey::http {
namespace {

using Found = HeadScanner::Found;

std::string request(std::string_view line, std::string_view fields = "Host: a\r\n") {
  return std::string(line) + "\r\n" + std::string(fields) + "\r\n";
}

std::optional<Refusal> parse(RequestHead& head, std::string_view text, HeadLimits limits = {}) {
  return head.parse(text, limits);
}

// --- HeadScanner ---------------------------------------------------------------------------------

struct Scan {
  Found found = Found::incomplete;
  std::size_t begin = 0;
  std::size_t end = 0;
  bool operator==(const Scan&) const = default;
};

void PrintTo(const Scan& scan, std::ostream* out) {
  *out << "found " << static_cast<int>(scan.found) << " from " << scan.begin << " to " << scan.end;
}

Scan result_of(Found found, const HeadScanner& scanner) {
  if (found != Found::complete) return {found, 0, 0};
  return {found, scanner.head_begin(), scanner.head_end()};
}

Scan scan_at_once(std::string_view data, std::size_t bytes_max) {
  HeadScanner scanner;
  const Found found = scanner.scan(data, bytes_max);
  return result_of(found, scanner);
}

Scan scan_in_steps(std::string_view data, std::size_t bytes_max, std::size_t step) {
  HeadScanner scanner;
  Found found = Found::incomplete;
  for (std::size_t size = 0; found == Found::incomplete && size < data.size();) {
    size = std::min(size + step, data.size());
    found = scanner.scan(data.substr(0, size), bytes_max);
  }
  return result_of(found, scanner);
}

TEST(HeadScanner, FindsTheEmptyLineAndNothingAfterIt) {
  EXPECT_EQ(scan_at_once("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody\n", 100),
            (Scan{Found::complete, 0, 27}));
  EXPECT_EQ(scan_at_once("GET / HTTP/1.1\r\n\r\n", 100), (Scan{Found::complete, 0, 18}));
}

TEST(HeadScanner, SkipsUpToTwoEmptyLinesBeforeTheStartLine) {
  EXPECT_EQ(scan_at_once("\r\nA\r\n\r\n", 100), (Scan{Found::complete, 2, 7}));
  EXPECT_EQ(scan_at_once("\r\n\r\nA\r\n\r\n", 100), (Scan{Found::complete, 4, 9}));
  EXPECT_EQ(scan_at_once("\r\n\r\n\r\nA\r\n\r\n", 100).found, Found::bad_line_end);
}

TEST(HeadScanner, BareLineFeedIsRefusedAnywhere) {
  for (std::string_view data : {"\n", "GET / HTTP/1.1\n", "GET / HTTP/1.1\r\nHost: a\n",
                                "GET / HTTP/1.1\r\nHost: a\r\n\n", "\r\n\nGET"}) {
    EXPECT_EQ(scan_at_once(data, 100).found, Found::bad_line_end) << data;
  }
}

TEST(HeadScanner, SizeCountsFromTheStartLineToTheEmptyLine) {
  const std::string head = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  EXPECT_EQ(scan_at_once(head, head.size()).found, Found::complete);
  EXPECT_EQ(scan_at_once("\r\n\r\n" + head, head.size()).found, Found::complete);
  EXPECT_EQ(scan_at_once(head, head.size() - 1).found, Found::too_large);
  EXPECT_EQ(scan_at_once(std::string(50, 'a'), 50).found, Found::incomplete);
  EXPECT_EQ(scan_at_once(std::string(51, 'a'), 50).found, Found::too_large);
}

TEST(HeadScanner, FedInStepsGivesTheSameAsAtOnce) {
  const std::string long_line = "A: " + std::string(60, 'x');
  for (std::string data :
       {std::string("GET / HTTP/1.1\r\nHost: a\r\n\r\nbody\r\n\r\n"),
        std::string("\r\n\r\nA\r\n\r\n"), std::string("\r\n\r\n\r\nA\r\n\r\n"),
        std::string("A\r\n\n"), std::string("A\nB\r\n\r\n"), std::string("A\r\r\n\r\n"),
        std::string("\r\rA\r\n\r\n"), std::string(80, 'y'), long_line + "\r\n\r\n",
        long_line + "\n\r\n", "B\r\n" + long_line + "\n", std::string("\r"), std::string("\r\n"),
        std::string()}) {
    for (std::size_t bytes_max : {5u, 27u, 50u, 62u, 63u, 64u, 65u, 66u, 67u, 1000u}) {
      const Scan expected = scan_at_once(data, bytes_max);
      for (std::size_t step : {1u, 2u, 3u, 7u}) {
        EXPECT_EQ(scan_in_steps(data, bytes_max, step), expected)
            << testing::PrintToString(data) << " at most " << bytes_max << ", step " << step;
      }
    }
  }
}

TEST(HeadScanner, StartsAnewAfterARestart) {
  HeadScanner scanner;
  ASSERT_EQ(scanner.scan("\r\nA\r\n\r\n", 100), Found::complete);
  scanner.restart();
  ASSERT_EQ(scanner.scan("B\r\nC: d\r\n\r\n", 100), Found::complete);
  EXPECT_EQ(scanner.head_begin(), 0u);
  EXPECT_EQ(scanner.head_end(), 11u);
}

// --- requests ------------------------------------------------------------------------------------

TEST(RequestHead, OrdinaryRequestIsTakenApart) {
  RequestHead head;
  ASSERT_FALSE(parse(head, request("POST /orders?a=1&b HTTP/1.1",
                                   "Host: api.example:8080\r\nIdempotency-Key:  \"k\" \t\r\n")));
  EXPECT_EQ(head.method, "POST");
  EXPECT_EQ(head.target, "/orders?a=1&b");
  EXPECT_EQ(head.path, "/orders");
  EXPECT_EQ(head.minor_version, 1);
  ASSERT_EQ(head.fields.size(), 2u);
  EXPECT_EQ(head.fields[0].id, FieldId::host);
  EXPECT_EQ(head.fields[1].id, FieldId::idempotency_key);
  EXPECT_EQ(head.fields[1].name, "Idempotency-Key");
  EXPECT_EQ(head.fields[1].value, "\"k\"");
}

TEST(RequestHead, LegalOddFormsAreAccepted) {
  for (std::string text : {
           request("GET / HTTP/1.0", ""),                    // Host is optional in 1.0
           request("GET / HTTP/1.1", "Host:\r\n"),           // and may be empty
           request("GET / HTTP/1.1", "hOsT:a\r\n"),          // no blank after the colon
           request("GET / HTTP/1.1", "Host: \t a \t \r\n"),  // many
           request("GET / HTTP/1.1", "Host: [::1]:80\r\n"),  // IPv6
           request("GET / HTTP/1.1", "Host: a:\r\n"),        // an empty port
           request("GET / HTTP/1.1", "Host: a\r\nX:\r\n"),   // an empty value
           request("GET / HTTP/1.1", "Host: a\r\nX: a:b::c\r\n"),
           request("GET / HTTP/1.1", "Host: a\r\nX: caf\xc3\xa9 \xff\r\n"),  // obs-text
           request("GET / HTTP/1.1", "Host: a\r\nX: a\tb\r\n"),
           request("GET / HTTP/1.1", "Host: a\r\n!#$%&'*+-.^_`|~: x\r\n"),
           request("M-SEARCH /x HTTP/1.1"),
           request("GET /a//b/../c;d=%00?x=[]{}|\\^` HTTP/1.1"),
           request("GET //evil.example/x HTTP/1.1"),
           request("OPTIONS * HTTP/1.1"),
           request("CONNECT a:443 HTTP/1.1"),
       }) {
    RequestHead head;
    const auto refusal = parse(head, text);
    EXPECT_FALSE(refusal) << testing::PrintToString(text) << ": " << refusal->reason;
  }
}

struct Hostile {
  std::string text;
  int status = 400;
};

TEST(RequestHead, WhatCouldBeReadInTwoWaysIsRefused) {
  using namespace std::string_literals;
  const std::vector<Hostile> cases = {
      // request line
      {request("GET / HTTP/1.1 ")},
      {request("GET  / HTTP/1.1")},
      {request("GET /  HTTP/1.1")},
      {request(" GET / HTTP/1.1")},
      {request("GET\t/\tHTTP/1.1")},
      {request("GET / x HTTP/1.1")},
      {request("GET /")},
      {request("GET")},
      {request("GET /\x0bx HTTP/1.1")},
      {request("GET /\xc3\xa9 HTTP/1.1")},
      {request("GET /a#b HTTP/1.1")},
      {request("GET /\x7f HTTP/1.1")},
      {request("GET /a\rb HTTP/1.1")},
      {request("GET / HTTP/1.1\r")},
      {request("GET /a\0b HTTP/1.1"s)},
      {request("get / HTTP/1.1")},
      {request("Post / HTTP/1.1")},
      {request("P\xc3\x96ST / HTTP/1.1")},
      {request("PO ST / HTTP/1.1")},
      {request(std::string(33, 'A') + " / HTTP/1.1")},
      {request(" / HTTP/1.1")},
      // version
      {request("GET / HTTP/2.0"), 505},
      {request("GET / HTTP/1.2"), 505},
      {request("GET / HTTP/0.9"), 505},
      {request("GET / http/1.1")},
      {request("GET / HTTP/1.10")},
      {request("GET / HTTP/11")},
      {request("GET / HTTP/1,1")},
      {request("GET / HTTP/+1.1")},
      {request("GET / FTP/1.1")},
      // Host
      {request("GET / HTTP/1.1", "")},
      {request("GET / HTTP/1.1", "Host: a\r\nHost: a\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nhost: b\r\n")},
      {request("GET / HTTP/1.0", "Host: a\r\nHost: b\r\n")},
      {request("GET / HTTP/1.1", "Host: a b\r\n")},
      {request("GET / HTTP/1.1", "Host: a/b\r\n")},
      {request("GET / HTTP/1.1", "Host: user@a\r\n")},
      {request("GET / HTTP/1.1", "Host: a:b\r\n")},
      {request("GET / HTTP/1.1", "Host: a:80:80\r\n")},
      {request("GET / HTTP/1.1", "Host: a:123456\r\n")},
      {request("GET / HTTP/1.1", "Host: :80\r\n")},
      {request("GET / HTTP/1.1", "Host: [::1\r\n")},
      {request("GET / HTTP/1.1", "Host: [::1]x\r\n")},
      {request("GET / HTTP/1.1", "Host: [g::1]\r\n")},
      {request("GET / HTTP/1.1", "Host: a\"b\r\n")},
      {request("GET / HTTP/1.1", "Host: \xc3\xa9\r\n")},
      // header lines
      {request("GET / HTTP/1.1", " Host: a\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX: b\r\n c\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX: b\r\n\tc\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\n \r\n")},
      {request("GET / HTTP/1.1", "Host : a\r\n")},
      {request("GET / HTTP/1.1", "Host\t: a\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nTransfer-Encoding : chunked\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nno colon\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\n: x\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX@Y: x\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX\xc3\xa9: x\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX: a\rB: c\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX: a\r\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\n\r\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX: a\0b\r\n"s)},
      {request("GET / HTTP/1.1", "Host: a\r\nX: a\x0b\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX: a\x7f\r\n")},
      {request("GET / HTTP/1.1", "Host: a\r\nX\0: a\r\n"s)},
      // targets
      {request("GET * HTTP/1.1")},
      {request("GET a HTTP/1.1")},
      {request("GET a:443 HTTP/1.1")},
      {request("GET ftp://a/ HTTP/1.1")},
      {request("GET http:/a HTTP/1.1")},
      {request("GET http:///x HTTP/1.1")},
      {request("GET http://b/ HTTP/1.1")},
      {request("GET http://a:80/ HTTP/1.1")},
      {request("GET http://user@a/ HTTP/1.1")},
      {request("GET http://a?x HTTP/1.1")},
      {request("CONNECT /x HTTP/1.1")},
      {request("CONNECT http://a/ HTTP/1.1")},
  };
  for (const Hostile& hostile : cases) {
    RequestHead head;
    const auto refusal = parse(head, hostile.text);
    ASSERT_TRUE(refusal) << "accepted: " << testing::PrintToString(hostile.text);
    EXPECT_EQ(refusal->status, hostile.status) << testing::PrintToString(hostile.text);
    EXPECT_FALSE(refusal->reason.empty());
  }
}

// Values are looked at a word at a time, and their ends byte by byte.
TEST(RequestHead, ControlCharacterIsRefusedAnywhereInAValue) {
  for (const std::size_t at : {0, 4, 7, 8, 15, 16, 18}) {
    for (int byte = 0; byte < 256; ++byte) {
      std::string value = "a\xff-\x80 value\t of 20 b";
      ASSERT_GT(value.size(), at);
      value[at] = static_cast<char>(byte);
      RequestHead head;
      const bool bad = (byte < 0x20 && byte != '\t') || byte == 0x7f;
      EXPECT_EQ(
          parse(head, request("GET / HTTP/1.1", "Host: a\r\nX: " + value + "\r\n")).has_value(),
          bad)
          << byte << " at " << at;
    }
  }
}

TEST(RequestHead, AbsoluteTargetBecomesAPath) {
  RequestHead head;
  ASSERT_FALSE(parse(head, request("GET http://A/x?y HTTP/1.1")));  // hosts have no case
  EXPECT_EQ(head.target, "/x?y");
  EXPECT_EQ(head.path, "/x");
  ASSERT_FALSE(parse(head, request("GET HTTPS://a HTTP/1.1")));
  EXPECT_EQ(head.target, "/");
}

TEST(RequestHead, NumberOfFieldsIsLimited) {
  std::string fields = "Host: a\r\n";
  for (int i = 1; i < 5; ++i) fields += "X: y\r\n";
  RequestHead head;
  EXPECT_FALSE(parse(head, request("GET / HTTP/1.1", fields), {.bytes = 1000, .fields = 5}));
  const auto refusal =
      parse(head, request("GET / HTTP/1.1", fields + "X: y\r\n"), {.bytes = 1000, .fields = 5});
  ASSERT_TRUE(refusal);
  EXPECT_EQ(refusal->status, 431);
}

TEST(RequestHead, HeadMayBeUsedAgain) {
  RequestHead head;
  ASSERT_FALSE(parse(head, request("POST /first?q HTTP/1.0", "Host: a\r\nX: y\r\n")));
  ASSERT_FALSE(parse(head, request("GET /second HTTP/1.1")));
  EXPECT_EQ(head.method, "GET");
  EXPECT_EQ(head.path, "/second");
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_EQ(head.fields.size(), 1u);
}

TEST(RequestHead, RefusedHeadShowsNothingOfTheOneBefore) {
  RequestHead head;
  ASSERT_FALSE(parse(head, request("HEAD /first HTTP/1.0", "Host: a\r\n")));
  ASSERT_TRUE(parse(head, request(std::string(500, 'x') + std::string(1, '\0'))));
  EXPECT_EQ(head.method, "");
  EXPECT_EQ(head.path, "");
  EXPECT_EQ(head.minor_version, 1);
  EXPECT_TRUE(head.fields.empty());
}

TEST(RequestHead, ConnectionOptionsAreReadFromEveryLine) {
  RequestHead head;
  ASSERT_FALSE(parse(head, request("GET / HTTP/1.1",
                                   "Host: a\r\nConnection: x ,KEEP-alive\r\n"
                                   "X: close\r\nconnection: ,Upgrade\r\n")));
  EXPECT_TRUE(head.connection_has("keep-alive"));
  EXPECT_TRUE(head.connection_has("upgrade"));
  EXPECT_TRUE(head.connection_has("x"));
  EXPECT_FALSE(head.connection_has("close"));
  EXPECT_EQ(head.count(FieldId::connection), 2u);
  EXPECT_EQ(head.find(FieldId::expect), nullptr);
}

// --- responses -----------------------------------------------------------------------------------

TEST(ResponseHead, OrdinaryAnswerIsTakenApart) {
  ResponseHead head;
  ASSERT_FALSE(head.parse("HTTP/1.1 201 Created at last\r\nLocation: /1\r\n\r\n", {}));
  EXPECT_EQ(head.status, 201);
  EXPECT_EQ(head.reason, "Created at last");
  EXPECT_EQ(head.minor_version, 1);
  ASSERT_EQ(head.fields.size(), 1u);
  EXPECT_EQ(head.fields[0].value, "/1");
}

TEST(ResponseHead, LegalOddFormsAreAccepted) {
  for (std::string_view text :
       {"HTTP/1.1 200 \r\n\r\n", "HTTP/1.1 200\r\n\r\n", "HTTP/1.0 599 x\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 caf\xc3\xa9\tx\r\n\r\n",
        "HTTP/1.1 200 OK\r\nX:\r\n\r\n"}) {
    ResponseHead head;
    EXPECT_FALSE(head.parse(text, {})) << text;
  }
}

TEST(ResponseHead, MalformedAnswersAreRefused) {
  using namespace std::string_literals;
  for (std::string text :
       {"\r\n"s, "HTTP/1.1\r\n\r\n"s, "HTTP/1.1 20\r\n\r\n"s, "HTTP/1.1 2000 OK\r\n\r\n"s,
        "HTTP/1.1 20x OK\r\n\r\n"s, "HTTP/1.1  200 OK\r\n\r\n"s, "HTTP/1.1 -20 OK\r\n\r\n"s,
        "HTTP/1.1 099 OK\r\n\r\n"s, "HTTP/1.1 600 OK\r\n\r\n"s, "HTTP/2.0 200 OK\r\n\r\n"s,
        "ICY 200 OK is it\r\n\r\n"s, "HTTP/1.1 200 a\rb\r\n\r\n"s, "HTTP/1.1 200 a\0b\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n"s, "HTTP/1.1 200 OK\r\nX : a\r\n\r\n"s,
        "HTTP/1.1 200 OK\r\nX: a\0\r\n\r\n"s, "HTTP/1.1 200 OK\r\nX\r\n\r\n"s}) {
    ResponseHead head;
    EXPECT_TRUE(head.parse(text, {})) << testing::PrintToString(text);
  }
}

}  // namespace
}  // namespace oncekey::http
