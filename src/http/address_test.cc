#include "http/address.h"

#include <gtest/gtest.h>

namespace oncekey::http {
namespace {

TEST(Address, LiteralsGoThereAndBack) {
  for (std::string text : {"127.0.0.1:80", "[::1]:8080", "10.1.2.3:65535", "[2001:db8::7]:1"}) {
    auto found = resolve(text);
    ASSERT_TRUE(found.ok()) << found.error();
    ASSERT_FALSE(found->empty());
    EXPECT_EQ(found->front().to_string(), text);
  }
  EXPECT_EQ(resolve("[::1]:80")->front().host(), "::1");
  EXPECT_EQ(resolve("127.0.0.1:80")->front().host(), "127.0.0.1");
}

TEST(Address, NoHostMeansAnyInterface) {
  auto found = resolve(":8080");
  ASSERT_TRUE(found.ok()) << found.error();
  bool any = false;
  for (const SocketAddress& address : *found) {
    any = any || address.host() == "0.0.0.0" || address.host() == "::";
  }
  EXPECT_TRUE(any);
}

TEST(Address, WhatIsNoHostAndPortIsRefusedWithItsText) {
  for (std::string text : {"", "localhost", "127.0.0.1:", "127.0.0.1:http", "127.0.0.1:-1",
                           "127.0.0.1:99999", "127.0.0.1:8 0", "no such host.invalid:80"}) {
    auto found = resolve(text);
    ASSERT_FALSE(found.ok()) << text << " became " << found->front().to_string();
    EXPECT_NE(found.error().find("\"" + text + "\""), std::string::npos) << found.error();
  }
}

struct UrlCase {
  std::string url;
  std::string host_port;
  std::string authority;
  std::string base_path;
};

TEST(Address, UrlGivesWhereToConnectAndWhatToPrefix) {
  const UrlCase cases[] = {
      {"http://api:8080", "api:8080", "api:8080", ""},
      {"http://api", "api:80", "api", ""},
      {"http://api/", "api:80", "api", ""},
      {"http://api:/", "api:80", "api:", ""},
      {"http://api:8080/v1/", "api:8080", "api:8080", "/v1"},
      {"http://api/v1/x//", "api:80", "api", "/v1/x"},
      {"http://[::1]", "[::1]:80", "[::1]", ""},
      {"http://[::1]:9/b", "[::1]:9", "[::1]:9", "/b"},
      {"https://api/v1", "api:443", "api", "/v1"},
      {"https://api:8443", "api:8443", "api:8443", ""},
  };
  for (const UrlCase& expected : cases) {
    auto parsed = parse_http_url(expected.url);
    ASSERT_TRUE(parsed.ok()) << parsed.error();
    EXPECT_EQ(parsed->host_port, expected.host_port) << expected.url;
    EXPECT_EQ(parsed->authority, expected.authority) << expected.url;
    EXPECT_EQ(parsed->base_path, expected.base_path) << expected.url;
  }
}

TEST(Address, UrlsThatAreNotHttpAreRefused) {
  for (std::string_view url :
       {"", "api:8080", "https://", "HTTP//api", "http://", "http:///x", "http://user@api",
        "http://api/x?y", "http://api/x#y", "http://api/a b", "http://api?x=1", "http://a b"}) {
    EXPECT_FALSE(parse_http_url(url).ok()) << url;
  }
}

}  // namespace
}  // namespace oncekey::http
