#include "http/body_decoder.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <string>
#include <vector>

namespace oncekey::http {
namespace {

using Kind = Framing::Kind;
using Status = BodyDecoder::Status;

struct Decoded {
  std::string body;
  Status status = Status::need_more;  // where it ended
  std::size_t used = 0;               // of the input, when done
  bool operator==(const Decoded&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Decoded& decoded) {
  return out << "status " << static_cast<int>(decoded.status) << ", used " << decoded.used
             << ", body " << testing::PrintToString(decoded.body);
}

// Feeds `input` as it would come from a socket: what is not consumed is kept, and each piece is
// added to it.
Decoded decode(Framing framing, std::string_view input, const std::vector<std::size_t>& pieces) {
  BodyDecoder decoder(framing);
  Decoded decoded;
  std::size_t begin = 0, end = 0;
  auto drain = [&] {
    for (;;) {
      const BodyDecoder::Step step = decoder.step(input.substr(begin, end - begin));
      RC_ASSERT(step.consumed <= end - begin || step.status == Status::bad);
      decoded.status = step.status;
      if (step.status == Status::bad) return;
      begin += step.consumed;
      decoded.body.append(step.data);
      if (step.status == Status::data) RC_ASSERT(!step.data.empty());
      if (step.status != Status::data) return;
    }
  };
  drain();
  for (std::size_t piece : pieces) {
    if (decoded.status == Status::done || decoded.status == Status::bad) break;
    end = std::min(input.size(), end + piece);
    drain();
  }
  if (decoded.status == Status::need_more && end < input.size()) {
    end = input.size();
    drain();
  }
  if (decoded.status == Status::done) decoded.used = begin;
  return decoded;
}

Decoded decode_chunked(std::string_view input) {
  return decode({Kind::chunked, 0}, input, {input.size()});
}

TEST(BodyDecoder, NoBodyIsDoneAtOnce) {
  EXPECT_EQ(decode({}, "next request", {99}), (Decoded{"", Status::done, 0}));
  EXPECT_EQ(decode({Kind::sized, 0}, "next request", {99}), (Decoded{"", Status::done, 0}));
}

TEST(BodyDecoder, SizedBodyEndsAfterItsLength) {
  EXPECT_EQ(decode({Kind::sized, 5}, "hellonext", {99}), (Decoded{"hello", Status::done, 5}));
  EXPECT_EQ(decode({Kind::sized, 6}, "hello", {99}), (Decoded{"hello", Status::need_more, 0}));
  BodyDecoder decoder({Kind::sized, 6});
  decoder.step("hello");
  EXPECT_EQ(decoder.remaining(), 1u);
  EXPECT_FALSE(decoder.ends_at_close());
}

TEST(BodyDecoder, BodyUntilCloseTakesEverything) {
  EXPECT_EQ(decode({Kind::until_close, 0}, "0\r\n\r\n", {2, 3}),
            (Decoded{"0\r\n\r\n", Status::need_more, 0}));
  EXPECT_TRUE(BodyDecoder({Kind::until_close, 0}).ends_at_close());
}

TEST(BodyDecoder, ChunksAreJoined) {
  EXPECT_EQ(decode_chunked("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\nnext"),
            (Decoded{"hello world", Status::done, 26}));
  EXPECT_EQ(decode_chunked("0\r\n\r\n"), (Decoded{"", Status::done, 5}));
}

TEST(BodyDecoder, LegalOddFormsAreAccepted) {
  const std::string ten = "0123456789";
  for (std::string input : {
           "A\r\n" + ten + "\r\n0\r\n\r\n",
           "a\r\n" + ten + "\r\n0\r\n\r\n",
           "000a\r\n" + ten + "\r\n000\r\n\r\n",
           "a;name=value\r\n" + ten + "\r\n0;x\r\n\r\n",
           "a ;name=\"v;w\"\r\n" + ten + "\r\n0\t;x\r\n\r\n",
           "a\r\n" + ten + "\r\n0\r\nX-Checksum: abc\r\nEmpty:\r\n\r\n",
       }) {
    EXPECT_EQ(decode_chunked(input), (Decoded{ten, Status::done, input.size()})) << input;
  }
}

TEST(BodyDecoder, WhatCouldBeReadInTwoWaysIsBad) {
  using namespace std::string_literals;
  for (std::string input : {
           "\r\n"s,
           "x\r\n"s,
           " 5\r\nhello\r\n0\r\n\r\n"s,
           "+5\r\nhello\r\n0\r\n\r\n"s,
           "-1\r\nhello\r\n0\r\n\r\n"s,
           "0x5\r\nhello\r\n0\r\n\r\n"s,
           "5 \r\nhello\r\n0\r\n\r\n"s,
           "5,5\r\nhello\r\n0\r\n\r\n"s,
           "5 5\r\nhello\r\n0\r\n\r\n"s,
           "5\nhello\r\n0\r\n\r\n"s,
           "5\rhello\r\n0\r\n\r\n"s,
           "5\r\r\nhello\r\n0\r\n\r\n"s,
           "5;a\rb\r\nhello\r\n0\r\n\r\n"s,
           "5;a\0\r\nhello\r\n0\r\n\r\n"s,
           "5\r\nhello\n0\r\n\r\n"s,
           "5\r\nhelloX\r\n0\r\n\r\n"s,
           "5\r\nhello0\r\n\r\n"s,
           "5\r\nhello\rX0\r\n\r\n"s,
           "4\r\nhello\r\n0\r\n\r\n"s,
           "ffffffffffffffff\r\n"s,
           "10000000000000000\r\n"s,
           "00000000000000000005\r\nhello\r\n0\r\n\r\n"s,
           "\xd9\xa5\r\nhello\r\n0\r\n\r\n"s,
           "5;" + std::string(BodyDecoder::chunk_line_max, 'x') + "\r\nhello\r\n0\r\n\r\n",
           std::string(BodyDecoder::chunk_line_max + 1, '1'),
           "0\n\r\n"s,
           "0\r\n\n"s,
           "0\r\nno colon\r\n\r\n"s,
           "0\r\nName : x\r\n\r\n"s,
           "0\r\n: x\r\n\r\n"s,
           "0\r\nA: x\r\n folded\r\n\r\n"s,
           "0\r\nA: x\n\r\n"s,
           "0\r\nA: x\x01\r\n\r\n"s,
           "0\r\nContent-Length: 5\r\n\r\n"s,
           "0\r\ntransfer-encoding: chunked\r\n\r\n"s,
           "0\r\nHost: b\r\n\r\n"s,
           "0\r\nAuthorization: b\r\n\r\n"s,
           "0\r\nConnection: close\r\n\r\n"s,
           "0\r\nIdempotency-Key: other\r\n\r\n"s,
           "0\r\nContent-Type: x\r\n\r\n"s,
           "0\r\nX: " + std::string(BodyDecoder::trailers_max, 'x') + "\r\n\r\n",
       }) {
    EXPECT_EQ(decode_chunked(input).status, Status::bad) << testing::PrintToString(input);
  }
}

TEST(BodyDecoder, ManyTrailersTogetherAreTooLarge) {
  std::string trailers;
  while (trailers.size() <= BodyDecoder::trailers_max) trailers += "A: b\r\n";
  EXPECT_EQ(decode_chunked("0\r\n" + trailers + "\r\n").status, Status::bad);
}

TEST(BodyDecoder, BadBodyStaysBadWhateverFollows) {
  BodyDecoder decoder({Kind::chunked, 0});
  ASSERT_EQ(decoder.step("5\r\nhello").status, Status::data);
  ASSERT_EQ(decoder.step("\r\nzz\r\n").status, Status::bad);
  EXPECT_FALSE(decoder.error().empty());
  EXPECT_EQ(decoder.step("0\r\n\r\n").status, Status::bad);
  EXPECT_FALSE(decoder.done());
}

TEST(BodyDecoder, WrittenChunksReadBackTheSame) {
  const bool held = rc::check([](const std::vector<std::string>& parts) {
    std::string wire, body;
    for (const std::string& part : parts) {
      if (part.empty()) continue;
      append_chunk_begin(wire, part.size());
      wire.append(part).append(chunk_end);
      body.append(part);
    }
    wire.append(last_chunk);
    RC_ASSERT(decode_chunked(wire) == (Decoded{body, Status::done, wire.size()}));
  });
  EXPECT_TRUE(held);
}

rc::Gen<std::string> wire_bytes() {
  auto fragment = rc::gen::element<std::string>(
      "0\r\n", "\r\n", "5\r\n", "hello", "5\r\nhello\r\n", "1;x=y\r\n", "a", "A: b\r\n", "\r", "\n",
      "0\r\n\r\n", " ", ";", "ff\r\n", "Host: x\r\n", "1\r\nz\r\n", std::string(300, '1'));
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(fragment),
                      [](const std::vector<std::string>& parts) {
                        std::string joined;
                        for (const std::string& part : parts) joined += part;
                        return joined;
                      });
}

TEST(BodyDecoder, AnySplitOfTheInputGivesTheSameBody) {
  const bool held = rc::check([] {
    const auto kind = *rc::gen::element(Kind::sized, Kind::chunked, Kind::until_close);
    const auto length = *rc::gen::inRange<std::uint64_t>(0, 40);
    const auto input = *wire_bytes();
    const auto pieces =
        *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 9));
    const Framing framing{kind, length};
    RC_ASSERT(decode(framing, input, pieces) == decode(framing, input, {input.size()}));
  });
  EXPECT_TRUE(held);
}

TEST(BodyDecoder, ByteByByteGivesTheSameBody) {
  const bool held = rc::check([] {
    const auto input = *wire_bytes();
    const std::vector<std::size_t> single(input.size(), 1);
    RC_ASSERT(decode({Kind::chunked, 0}, input, single) == decode_chunked(input));
  });
  EXPECT_TRUE(held);
}

}  // namespace
}  // namespace oncekey::http
