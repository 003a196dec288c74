#include "http/framing.h"

#include <gtest/gtest.h>

#include <string>

namespace oncekey::http {
namespace {

using Kind = Framing::Kind;

Result<Framing, Refusal> framing_of_request(std::string_view fields, std::string_view version) {
  RequestHead head;
  const auto refusal = head.parse(
      "POST / HTTP/" + std::string(version) + "\r\nHost: a\r\n" + std::string(fields) + "\r\n", {});
  if (refusal) return *refusal;
  return request_framing(head);
}

Result<Framing, Refusal> framing_of_response(int status, std::string_view fields,
                                             std::string_view method = "POST") {
  ResponseHead head;
  const auto refusal = head.parse(
      "HTTP/1.1 " + std::to_string(status) + " X\r\n" + std::string(fields) + "\r\n", {});
  if (refusal) return *refusal;
  return response_framing(head, method);
}

void expect_request(std::string_view fields, Kind kind, std::uint64_t length = 0,
                    std::string_view version = "1.1") {
  const auto framing = framing_of_request(fields, version);
  ASSERT_TRUE(framing.ok()) << fields << framing.error().reason;
  EXPECT_EQ(framing->kind, kind) << fields;
  EXPECT_EQ(framing->length, length) << fields;
}

TEST(RequestFraming, PlainFormsAreUnderstood) {
  expect_request("", Kind::none);
  expect_request("", Kind::none, 0, "1.0");
  expect_request("Content-Length: 0\r\n", Kind::sized, 0);
  expect_request("Content-Length: 42\r\n", Kind::sized, 42);
  expect_request("content-length:\t42 \r\n", Kind::sized, 42);
  expect_request("Content-Length: 007\r\n", Kind::sized, 7);
  expect_request("Content-Length: 999999999999999999\r\n", Kind::sized, 999999999999999999u);
  expect_request("Content-Length: 5\r\n", Kind::sized, 5, "1.0");
  expect_request("Transfer-Encoding: chunked\r\n", Kind::chunked);
  expect_request("transfer-encoding: ChunKed\r\n", Kind::chunked);
}

TEST(RequestFraming, AmbiguousLengthsAreRefused) {
  for (std::string_view fields : {
           "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
           "Content-Length: 0\r\nTransfer-Encoding: identity\r\n",
           "Content-Length: 5\r\nContent-Length: 5\r\n",
           "Content-Length: 5\r\ncontent-LENGTH: 6\r\n",
           "Content-Length: 5, 5\r\n",
           "Content-Length: \r\n",
           "Content-Length: +5\r\n",
           "Content-Length: -5\r\n",
           "Content-Length: 5 5\r\n",
           "Content-Length: 0x5\r\n",
           "Content-Length: 5.0\r\n",
           "Content-Length: 5;\r\n",
           "Content-Length: \"5\"\r\n",
           "Content-Length: 1e1\r\n",
           "Content-Length: \xd9\xa5\r\n",
           "Content-Length: 18446744073709551617\r\n",
           "Content-Length: 9999999999999999999999\r\n",
           "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
           "Transfer-Encoding: chunked\r\ntransfer-encoding: identity\r\n",
           "Transfer-Encoding: chunked, chunked\r\n",
           "Transfer-Encoding: gzip, chunked\r\n",
           "Transfer-Encoding: chunked, identity\r\n",
           "Transfer-Encoding: identity\r\n",
           "Transfer-Encoding: gzip\r\n",
           "Transfer-Encoding: \r\n",
           "Transfer-Encoding: ,chunked\r\n",
           "Transfer-Encoding: chunked;q=1\r\n",
           "Transfer-Encoding: \"chunked\"\r\n",
           "Transfer-Encoding: xchunked\r\n",
           "Transfer-Encoding: chunked\x0b\r\n",
       }) {
    const auto framing = framing_of_request(fields, "1.1");
    ASSERT_FALSE(framing.ok()) << fields;
    EXPECT_EQ(framing.error().status, 400) << fields;
  }
}

TEST(RequestFraming, ChunksAreUnknownToTheOldVersion) {
  EXPECT_FALSE(framing_of_request("Transfer-Encoding: chunked\r\n", "1.0").ok());
}

TEST(ResponseFraming, BodyEndsAsTheFieldsSay) {
  EXPECT_EQ(framing_of_response(200, "Content-Length: 7\r\n")->length, 7u);
  EXPECT_EQ(framing_of_response(200, "Content-Length: 7\r\n")->kind, Kind::sized);
  EXPECT_EQ(framing_of_response(200, "Transfer-Encoding: chunked\r\n")->kind, Kind::chunked);
  EXPECT_EQ(framing_of_response(200, "")->kind, Kind::until_close);
}

TEST(ResponseFraming, SomeAnswersHaveNoBodyWhateverTheyDeclare) {
  for (std::string_view fields : {"", "Content-Length: 7\r\n", "Transfer-Encoding: chunked\r\n"}) {
    EXPECT_EQ(framing_of_response(204, fields)->kind, Kind::none) << fields;
    EXPECT_EQ(framing_of_response(304, fields)->kind, Kind::none) << fields;
    EXPECT_EQ(framing_of_response(100, fields)->kind, Kind::none) << fields;
    EXPECT_EQ(framing_of_response(101, fields)->kind, Kind::none) << fields;
    EXPECT_EQ(framing_of_response(200, fields, "HEAD")->kind, Kind::none) << fields;
  }
}

TEST(ResponseFraming, AmbiguousAnswersAreRefused) {
  for (std::string_view fields : {"Content-Length: 7\r\nTransfer-Encoding: chunked\r\n",
                                  "Content-Length: 7\r\nContent-Length: 8\r\n",
                                  "Content-Length: 7,8\r\n", "Transfer-Encoding: gzip\r\n"}) {
    EXPECT_FALSE(framing_of_response(200, fields).ok()) << fields;
    EXPECT_FALSE(framing_of_response(204, fields).ok()) << fields;
    EXPECT_FALSE(framing_of_response(200, fields, "HEAD").ok()) << fields;
  }
}

}  // namespace
}  // namespace oncekey::http
