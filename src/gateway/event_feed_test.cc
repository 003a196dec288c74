#include "gateway/event_feed.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

std::vector<Event> some(std::size_t count) {
  return std::vector<Event>(count, Event{"{}", "t", "r", "d"});
}

TEST(EventFeed, WakesOnceUntilItIsTaken) {
  EventFeed feed;
  int woken = 0;
  feed.listen([&] { ++woken; });
  for (int i = 0; i < 3; ++i) {
    std::vector<Event> events = some(2);
    feed.publish(events);
    EXPECT_TRUE(events.empty());
  }
  EXPECT_EQ(woken, 1);
  EXPECT_EQ(feed.take().events.size(), 6u);
  EXPECT_TRUE(feed.take().events.empty());
  std::vector<Event> more = some(1);
  feed.publish(more);
  EXPECT_EQ(woken, 2);
}

TEST(EventFeed, DropsAndCountsWhatHasNoRoom) {
  EventFeed feed;
  std::vector<Event> events = some(EventFeed::handover_max - 1);
  feed.publish(events);
  events = some(5);
  feed.publish(events);
  const EventFeed::Taken taken = feed.take();
  EXPECT_EQ(taken.events.size(), EventFeed::handover_max);
  EXPECT_EQ(taken.dropped, 4u);
  EXPECT_EQ(feed.take().dropped, 0u);
}

}  // namespace
}  // namespace oncekey::gateway
