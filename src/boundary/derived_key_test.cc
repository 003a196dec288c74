#include "oncekey/derived_key.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace oncekey {
namespace {

TEST(DerivedKey, IsTheSameForeverBecauseProvidersRememberIt) {
  EXPECT_EQ(derive_key({"shop-1", "0d2e7d0c-order-17"}, "charge"),
            "ok_JX8x8RGVu8JMc95sIHNhBXJzSAovQzIx2su9itrg388");
}

TEST(DerivedKey, DiffersWhereverItsPartsDiffer) {
  std::set<std::string> keys;
  int made = 0;
  for (const char* scope : {"", "a", "ab", "a\nb"}) {
    for (const char* key : {"", "a", "b", "ab", "bc"}) {
      for (const char* phase : {"", "a", "b", "c", "charge", "Charge"}) {
        keys.insert(derive_key({scope, key}, phase));
        ++made;
      }
    }
  }
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(made));
}

TEST(DerivedKey, TellsApartPartsThatJoinToTheSameText) {
  EXPECT_NE(derive_key({"a", "bc"}, "d"), derive_key({"ab", "c"}, "d"));
  EXPECT_NE(derive_key({"a", "b"}, "cd"), derive_key({"a", "bc"}, "d"));
  EXPECT_NE(derive_key({"a", std::string("b\0", 2)}, "d"), derive_key({"a", "b"}, "d"));
}

TEST(DerivedKey, IsShortAndTakenByEveryProvider) {
  for (int i = 0; i < 200; ++i) {
    const std::string key =
        derive_key({std::string(i, 'x'), "key" + std::to_string(i)}, std::string(i * 3, '\xff'));
    EXPECT_LE(key.size(), derived_key_size_max);
    EXPECT_EQ(key.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                    "0123456789_-"),
              std::string::npos)
        << key;
  }
}

}  // namespace
}  // namespace oncekey
