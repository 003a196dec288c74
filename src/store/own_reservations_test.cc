#include "store/own_reservations.h"

#include <gtest/gtest.h>

#include <string>

namespace oncekey::store {
namespace {

using Reservations = OwnReservations<std::string, std::string>;

std::vector<std::optional<std::string>> places(Reservations& own, std::vector<Fence> fences) {
  return own.take_places(fences);
}

void end(Reservations& own, std::vector<Fence> fences) {
  own.end(fences);
}

TEST(OwnReservations, PlaceIsToldOnce) {
  Reservations own;
  own.add({{1, "one"}, {2, "two"}}, "hold");
  EXPECT_EQ(places(own, {2, 3, 1}),
            (std::vector<std::optional<std::string>>{"two", std::nullopt, "one"}));
  EXPECT_EQ(places(own, {1}), (std::vector<std::optional<std::string>>{std::nullopt}));
}

TEST(OwnReservations, HoldIsFinishedWithTheLastOfItsRecords) {
  Reservations own;
  own.add({{1, ""}, {2, ""}}, "first");
  own.add({{3, ""}}, "second");
  end(own, {1});
  EXPECT_TRUE(own.take_finished().empty());
  end(own, {3, 2});
  EXPECT_EQ(own.take_finished(), (std::vector<std::string>{"second", "first"}));
  EXPECT_TRUE(own.take_finished().empty());
}

TEST(OwnReservations, RecordThatEndsTwiceCountsOnce) {
  Reservations own;
  own.add({{1, ""}, {2, ""}}, "hold");
  end(own, {1, 1});
  end(own, {1, 7});
  EXPECT_TRUE(own.take_finished().empty());
  end(own, {2});
  EXPECT_EQ(own.take_finished().size(), 1u);
}

TEST(OwnReservations, OldestAreForgottenAndTheRestIsNot) {
  Reservations own;
  const Fence count = 2 * Reservations::records_min + 1;
  for (Fence fence = 1; fence <= count; ++fence) own.add({{fence, "there"}}, "hold");
  EXPECT_EQ(places(own, {1, count - Reservations::records_min, count}),
            (std::vector<std::optional<std::string>>{std::nullopt, "there", "there"}));
  end(own, {1});
  EXPECT_TRUE(own.take_finished().empty());
  end(own, {count});
  EXPECT_EQ(own.take_finished().size(), 1u);
}

TEST(OwnReservations, FinishedHoldsThatNobodyTakesAreForgotten) {
  Reservations own;
  for (Fence fence = 1; fence <= Reservations::finished_max + 1; ++fence) {
    own.add({{fence, ""}}, "hold");
    end(own, {fence});
  }
  EXPECT_EQ(own.take_finished().size(), 1u);
}

}  // namespace
}  // namespace oncekey::store
