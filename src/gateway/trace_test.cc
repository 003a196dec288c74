#include "gateway/trace.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace oncekey::gateway {
namespace {

const std::string good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

bool is_kept(std::string_view traceparent) {
  return keep_or_start_trace(traceparent).traceparent == traceparent;
}

TEST(Trace, ValidTraceparentIsKeptAsItIs) {
  for (std::string traceparent : {
           good, good.substr(0, 53) + "00", good.substr(0, 53) + "ff",
           "cc" + good.substr(2),               // a later version
           "cc" + good.substr(2) + "-what-is",  // may say more
       }) {
    EXPECT_TRUE(is_kept(traceparent)) << traceparent;
  }
  EXPECT_EQ(keep_or_start_trace(good).trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
}

TEST(Trace, InvalidTraceparentStartsANewTrace) {
  const std::string no_trace = "00-" + std::string(32, '0') + good.substr(35);
  const std::string no_parent = good.substr(0, 36) + std::string(16, '0') + "-01";
  std::string upper = good;
  upper[5] = 'F';
  std::string no_hex = good;
  no_hex[5] = 'g';
  std::string no_dash = good;
  no_dash[35] = '0';
  for (std::string traceparent :
       {std::string(), std::string("00"), no_trace, no_parent, upper, no_hex, no_dash,
        "ff" + good.substr(2), good + "-01", good + "x", "cc" + good.substr(2) + "x",
        good.substr(0, 54), " " + good, "cc" + good.substr(2) + "-" + std::string(300, 'a'),
        good.substr(0, 53) + "0x", good + "," + good}) {
    EXPECT_FALSE(is_kept(traceparent)) << traceparent;
  }
}

TEST(Trace, NewTraceIsItselfValidAndUnlikeAnyOther) {
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    const Trace trace = keep_or_start_trace(std::nullopt);
    EXPECT_TRUE(is_kept(trace.traceparent)) << trace.traceparent;
    EXPECT_TRUE(seen.insert(std::string(trace.trace_id())).second);
  }
}

TEST(Trace, UuidIsOfVersionFour) {
  std::set<std::string> seen;
  for (int i = 0; i < 1'000; ++i) {
    const std::string uuid = random_uuid();
    ASSERT_EQ(uuid.size(), 36u);
    for (std::size_t at : {8, 13, 18, 23}) EXPECT_EQ(uuid[at], '-');
    EXPECT_EQ(uuid[14], '4');
    EXPECT_NE(std::string("89ab").find(uuid[19]), std::string::npos) << uuid;
    EXPECT_EQ(uuid.find_first_not_of("0123456789abcdef-"), std::string::npos);
    EXPECT_TRUE(seen.insert(uuid).second);
  }
}

}  // namespace
}  // namespace oncekey::gateway
