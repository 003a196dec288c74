#include "gateway/normal_path.h"

#include <gtest/gtest.h>

namespace oncekey::gateway {
namespace {

TEST(TargetPath, LosesQueryFragmentSchemeAndAuthority) {
  EXPECT_EQ(target_path("/a/b?x=/c"), "/a/b");
  EXPECT_EQ(target_path("/a#b"), "/a");
  EXPECT_EQ(target_path("http://host:1/a/b?x"), "/a/b");
  EXPECT_EQ(target_path("http://host"), "/");
  EXPECT_EQ(target_path("http://host?x=1"), "/");
  EXPECT_EQ(target_path("*"), "*");
  EXPECT_EQ(target_path(""), "/");
  EXPECT_EQ(target_path("/redirect/http://host/x"), "/redirect/http://host/x");
  EXPECT_EQ(target_path("?u=http://host/x"), "/");
}

TEST(NormalPath, FollowsRfc3986) {
  EXPECT_EQ(normal_path("/payments/%63harge"), "/payments/charge");
  EXPECT_EQ(normal_path("//payments///charge"), "/payments/charge");
  EXPECT_EQ(normal_path("/payments/./charge"), "/payments/charge");
  EXPECT_EQ(normal_path("/payments/../payments/charge"), "/payments/charge");
  EXPECT_EQ(normal_path("/payments/x/%2e%2E/charge"), "/payments/charge");
  EXPECT_EQ(normal_path("/../../etc"), "/etc");
  EXPECT_EQ(normal_path("/a/.."), "/");
  EXPECT_EQ(normal_path("/a/b/."), "/a/b/");
  EXPECT_EQ(normal_path("/a/"), "/a/");
  EXPECT_EQ(normal_path("/caf%c3%a9"), "/caf%C3%A9");
  EXPECT_EQ(normal_path("/a%2fb"), "/a%2Fb");
  EXPECT_EQ(normal_path("/a%2"), "/a%2");
  EXPECT_EQ(normal_path("/a%zz%"), "/a%zz%");
  EXPECT_EQ(normal_path("/...a/..b"), "/...a/..b");
}

TEST(LoosePath, TakesWhatAnyUpstreamMightTake) {
  EXPECT_EQ(loose_path("/payments%2Fcharge/"), "/payments/charge");
  EXPECT_EQ(loose_path("/payments%252fcharge"), "/payments/charge");
  EXPECT_EQ(loose_path("/payments\\charge"), "/payments/charge");
  EXPECT_EQ(loose_path("/payments;v=1/charge;x"), "/payments/charge");
  EXPECT_EQ(loose_path("/x/..;/payments"), "/payments");
  EXPECT_EQ(loose_path("/payments/charge%00"), "/payments/charge");
  EXPECT_EQ(loose_path("/payments/charge%3Fa=b"), "/payments/charge");
  EXPECT_EQ(loose_path("/%25252570ayments"), "/payments");
  EXPECT_EQ(loose_path("/"), "/");
}

TEST(PlainPath, IsOneThatNeedsNoNormalising) {
  for (const char* path : {"/", "/payments/charge", "/a/b.json", "/a/"}) {
    EXPECT_TRUE(is_plain_path(path)) << path;
    EXPECT_EQ(normal_path(path), path);
  }
  for (const char* path :
       {"*", "", "//a", "/./a", "/a/..", "/%61", "/a;b", "/a\\b", "/a\x01", "/\xc3"}) {
    EXPECT_FALSE(is_plain_path(path)) << path;
  }
}

}  // namespace
}  // namespace oncekey::gateway
