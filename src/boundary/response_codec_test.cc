#include "boundary/response_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace oncekey {
namespace {

const std::vector<std::string> allow_all = {
    "content-type", "location", "set-cookie",        "date",           "connection", "keep-alive",
    "x-request",    "upgrade",  "transfer-encoding", "content-length", "trailer"};

StoredResponse pack(std::string_view body) {
  return pack_response(201, {}, body, {});
}

std::string compressible(std::size_t size) {
  std::string body;
  while (body.size() < size) body += R"({"id":"pay_1","state":"paid"},)";
  body.resize(size);
  return body;
}

TEST(ResponseCodec, SmallBodiesAreKeptAsTheyAre) {
  const auto stored = pack(compressible(compress_size_min - 1));
  EXPECT_EQ(stored.body_encoding, BodyEncoding::identity);
  EXPECT_EQ(stored.status, 201);
  EXPECT_EQ(stored.schema_version, StoredResponse::current_schema_version);
}

TEST(ResponseCodec, LargerBodiesAreCompressedWhenItPays) {
  const auto body = compressible(4000);
  const auto stored = pack(body);
  EXPECT_EQ(stored.body_encoding, BodyEncoding::zstd);
  EXPECT_LT(stored.body.size(), body.size() / 4);
  EXPECT_EQ(unpack_body(stored).value(), body);
}

TEST(ResponseCodec, RandomBytesAreNotCompressed) {
  std::string noise;
  std::uint64_t state = 1;
  for (int i = 0; i < 4000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    noise.push_back(static_cast<char>(state >> 56));
  }
  EXPECT_EQ(pack(noise).body_encoding, BodyEncoding::identity);
  EXPECT_EQ(unpack_body(pack(noise)).value(), noise);
}

TEST(ResponseCodec, OnlyAllowedHeadersAreKeptInOrder) {
  const std::vector<Header> headers = {{"Location", "/a"}, {"X-Other", "1"}, {"CONTENT-TYPE", "t"}};
  const std::vector<std::string> allowed = {"content-type", "location"};
  const auto stored = pack_response(200, headers, "", allowed);
  EXPECT_EQ(stored.headers, (std::vector<Header>{{"Location", "/a"}, {"CONTENT-TYPE", "t"}}));
}

TEST(ResponseCodec, NoListCanAllowWhatBelongsToOneConnection) {
  const std::vector<Header> headers = {{"Set-Cookie", "s=1"},
                                       {"Date", "now"},
                                       {"Connection", "close, X-Request"},
                                       {"Keep-Alive", "5"},
                                       {"Transfer-Encoding", "chunked"},
                                       {"Content-Length", "3"},
                                       {"Trailer", "t"},
                                       {"Upgrade", "h2c"},
                                       {"X-Request", "1"},
                                       {"Location", "/a"}};
  const auto stored = pack_response(200, headers, "", allow_all);
  EXPECT_EQ(stored.headers, (std::vector<Header>{{"Location", "/a"}}));
  EXPECT_FALSE(replayable_header("set-cookie"));
  EXPECT_TRUE(replayable_header("ETag"));
}

TEST(ResponseCodec, UnknownSchemaOrEncodingIsNotServed) {
  auto stored = pack("body");
  stored.schema_version = StoredResponse::current_schema_version + 1;
  EXPECT_FALSE(unpack_body(stored).ok());
  stored = pack("body");
  stored.body_encoding = static_cast<BodyEncoding>(9);
  EXPECT_FALSE(unpack_body(stored).ok());
}

TEST(ResponseCodec, DamagedBodyIsNotServed) {
  const auto good = pack(compressible(2000));
  for (std::size_t i = 0; i < good.body.size(); ++i) {
    auto bad = good;
    bad.body[i] = static_cast<char>(bad.body[i] ^ 0x10);
    const auto unpacked = unpack_body(bad, 1 << 20);
    EXPECT_TRUE(!unpacked.ok() || unpacked.value() == compressible(2000)) << "byte " << i;
  }
  auto cut = good;
  cut.body.resize(good.body.size() / 2);
  EXPECT_FALSE(unpack_body(cut).ok());
  cut.body = "";
  EXPECT_FALSE(unpack_body(cut).ok());
}

TEST(ResponseCodec, SizeIsBoundedBeforeAnythingIsUnpacked) {
  const auto stored = pack(std::string(1 << 20, 'a'));
  EXPECT_LT(stored.body.size(), 1000u);
  EXPECT_FALSE(unpack_body(stored, (1 << 20) - 1).ok());
  EXPECT_TRUE(unpack_body(stored, 1 << 20).ok());
  EXPECT_FALSE(unpack_body(pack("1234"), 3).ok());
}

RC_GTEST_PROP(ResponseCodec, WhateverIsPackedComesBack, (const std::string& part)) {
  const auto times = *rc::gen::inRange(0, 50);
  std::string body;
  for (int i = 0; i < times; ++i) body += part;
  RC_ASSERT(unpack_body(pack(body)).value() == body);
}

}  // namespace
}  // namespace oncekey
