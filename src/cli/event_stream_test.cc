#include "cli/event_stream.h"

#include <gtest/gtest.h>

#include "cli/event_line.h"

namespace oncekey::cli {
namespace {

TEST(EventStreamTest, EventsAreTheSameHoweverTheyAreCut) {
  const std::string bytes =
      ": still here\n\ndata: {\"a\":1}\n\nevent: dropped\r\ndata: "
      "{\"count\":3}\r\n\r\ndata:x\ndata: "
      "y\n\n";
  for (std::size_t size = 1; size <= bytes.size(); ++size) {
    std::string seen;
    EventStream stream(
        [&](const ServerEvent& event) { seen += event.name + "|" + event.data + ";"; });
    for (std::size_t at = 0; at < bytes.size(); at += size) stream.take(bytes.substr(at, size));
    EXPECT_EQ(seen, "|{\"a\":1};dropped|{\"count\":3};|x\ny;") << "pieces of " << size;
  }
}

TEST(EventStreamTest, RequestIsOneLineWithoutControls) {
  const Json event(
      R"({"time":"2026-03-01T12:00:00.250Z","level":"info","event":"request","method":"POST",)"
      R"("path":"/orders","status":409,"decision":"unknown","outcome":"unknown","key":"k\u001b[2J",)"
      R"("tenant":"t","total_us":12345})");
  ASSERT_TRUE(event.valid());
  EXPECT_EQ(
      event_line(event.root(), Style{}),
      "2026-03-01T12:00:00.250Z  unknown      409  POST /orders  k\\x1b[2J  (tenant t, 12.3ms, "
      "unknown)");
}

TEST(EventStreamTest, OtherEventsShowTheirMembers) {
  const Json event(
      R"({"time":"T","level":"warn","event":"admin_change","who":"alice","reason":"a\nb"})");
  EXPECT_EQ(event_line(event.root(), Style{}), "T  admin_change  who=alice  reason=a\\nb");
}

}  // namespace
}  // namespace oncekey::cli
