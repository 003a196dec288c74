#include "http/address_ranges.h"

#include <gtest/gtest.h>

namespace oncekey::http {
namespace {

AddressRanges ranges(std::vector<std::string> texts) {
  const auto made = AddressRanges::of(std::move(texts));
  EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error());
  return made.ok() ? *made : AddressRanges();
}

TEST(AddressRanges, ContainWhatTheyName) {
  const AddressRanges some =
      ranges({"127.0.0.0/8", "10.20.0.0/14", "::1", "192.0.2.7", "2001:db8::/33"});
  for (const std::string_view inside :
       {"127.0.0.1", "127.255.255.255", "10.20.0.0", "10.23.255.255", "::1", "192.0.2.7",
        "::ffff:127.0.0.1", "::ffff:10.21.0.1", "2001:db8::1", "2001:db8:7fff::1"}) {
    EXPECT_TRUE(some.contain(inside)) << inside;
  }
  for (const std::string_view outside :
       {"128.0.0.1", "10.19.255.255", "10.24.0.0", "::2", "192.0.2.6", "::ffff:192.0.2.8", "",
        "localhost", "127.0.0.1:80", "127.1", "2001:db8:8000::1", "::127.0.0.1", "0.0.0.0"}) {
    EXPECT_FALSE(some.contain(outside)) << outside;
  }
  EXPECT_FALSE(AddressRanges().contain("127.0.0.1"));
  EXPECT_FALSE(some.contain_everything());
}

TEST(AddressRanges, ZeroBitsAreEveryAddressOfTheFamily) {
  EXPECT_TRUE(ranges({"0.0.0.0/0"}).contain("203.0.113.9"));
  EXPECT_FALSE(ranges({"0.0.0.0/0"}).contain("2001:db8::1"));
  EXPECT_TRUE(ranges({"::/0"}).contain("2001:db8::1"));
  EXPECT_TRUE(ranges({"0.0.0.0/0"}).contain_everything());
  EXPECT_TRUE(ranges({"::1", "::/0"}).contain_everything());
}

TEST(AddressRanges, UnclearOnesAreRefused) {
  for (const std::string text :
       {"", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0.0/8 ", "10.0.0.1/8", "::1/129",
        "localhost", "10.0.0", "fe80::1%eth0", "10.0.0.0/8/8", "[::1]"}) {
    EXPECT_FALSE(AddressRanges::of({text}).ok()) << text;
  }
}

}  // namespace
}  // namespace oncekey::http
