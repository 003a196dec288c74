#include "admin/key_filter.h"

#include <gtest/gtest.h>

namespace oncekey::admin {
namespace {

TEST(KeyCursor, GoesThereAndBack) {
  for (const RecordId& id : {RecordId{"tenant", "key"}, RecordId{"", "k"}, RecordId{"t", ""},
                             RecordId{"a.b", std::string("\0\xff.1", 4)}}) {
    EXPECT_EQ(from_cursor(to_cursor(id)), id);
  }
}

TEST(KeyCursor, NonsenseIsNone) {
  for (std::string_view cursor :
       {"", ".", "1", "1.", "x.00", "2.00", "0.0", "0.0g", "99999999999999999999.00", "-1.00"}) {
    EXPECT_EQ(from_cursor(cursor), std::nullopt) << cursor;
  }
}

}  // namespace
}  // namespace oncekey::admin
