#include "boundary/header_list.h"

#include <gtest/gtest.h>

namespace oncekey {
namespace {

TEST(HeaderList, KeepsEveryByteAndTheOrder) {
  const std::vector<Header> headers = {{"b", "2"}, {"a", std::string("\0\xff\n", 3)}, {"b", ""}};
  EXPECT_EQ(decode_headers(encode_headers(headers)), headers);
  EXPECT_EQ(decode_headers(""), std::vector<Header>());
}

TEST(HeaderList, RefusesBytesThatEndTooEarly) {
  const std::string bytes = encode_headers({{"name", "value"}});
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_headers(std::string_view(bytes).substr(0, size))) << size;
  }
  EXPECT_FALSE(decode_headers(std::string(16, '\xff')));
}

}  // namespace
}  // namespace oncekey
