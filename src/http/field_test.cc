#include "http/field.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace oncekey::http {
namespace {

std::vector<std::string> items_of(std::string_view list) {
  std::vector<std::string> items;
  for_each_list_item(list, [&](std::string_view item) { items.emplace_back(item); });
  return items;
}

TEST(Field, NamesAreFoundInAnyCase) {
  EXPECT_EQ(field_id("Content-Length"), FieldId::content_length);
  EXPECT_EQ(field_id("content-length"), FieldId::content_length);
  EXPECT_EQ(field_id("CONTENT-LENGTH"), FieldId::content_length);
  EXPECT_EQ(field_id("tRANSFER-eNCODING"), FieldId::transfer_encoding);
  EXPECT_EQ(field_id("TE"), FieldId::te);
  EXPECT_EQ(field_id("X-Forwarded-Proto"), FieldId::x_forwarded_proto);
  EXPECT_EQ(field_id("traceparent"), FieldId::traceparent);
}

TEST(Field, NearlyKnownNamesAreOther) {
  for (std::string_view name : {"", "Content_Length", "Content-Length ", "Content-Lengt", "Hos",
                                "Hosts", "Idempotency-Keys",
                                "\xc4\xb0"
                                "dempotency-key"}) {
    EXPECT_EQ(field_id(name), FieldId::other) << name;
  }
}

TEST(Field, ComparesOnlyAsciiLettersWithoutCase) {
  EXPECT_TRUE(equals_ignoring_case("", ""));
  EXPECT_TRUE(equals_ignoring_case("aZ-09", "Az-09"));
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
  EXPECT_FALSE(equals_ignoring_case("@", "`"));  // 0x20 apart, yet no letters
  EXPECT_FALSE(equals_ignoring_case("[", "{"));
  EXPECT_FALSE(equals_ignoring_case("\xe4", "\xc4"));  // Latin-1 letters are opaque
}

// Names are compared a word at a time, and their ends byte by byte.
TEST(Field, EveryPairOfCharactersComparesTheSameAnywhereInAName) {
  const auto lower = [](int byte) { return byte >= 'A' && byte <= 'Z' ? byte + 32 : byte; };
  for (const std::size_t at : {0, 3, 7, 8, 12}) {
    std::string a = "Content-Types";
    std::string b = "cONTENT-tYPES";
    for (int x = 0; x < 256; ++x) {
      for (int y = 0; y < 256; ++y) {
        a[at] = static_cast<char>(x);
        b[at] = static_cast<char>(y);
        ASSERT_EQ(equals_ignoring_case(a, b), lower(x) == lower(y)) << at << ": " << x << ", " << y;
      }
    }
  }
}

TEST(Field, TokenHasExactlyTheCharactersOfTheStandard) {
  const std::string allowed =
      "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    EXPECT_EQ(is_token(std::string(1, c)), allowed.find(c) != std::string::npos) << byte;
  }
  EXPECT_FALSE(is_token(""));
  EXPECT_FALSE(is_token("a b"));
}

TEST(Field, ListItemsAreTrimmedAndEmptyOnesSkipped) {
  using Items = std::vector<std::string>;
  EXPECT_EQ(items_of(""), Items{});
  EXPECT_EQ(items_of(" ,\t, ,"), Items{});
  EXPECT_EQ(items_of("close"), Items{"close"});
  EXPECT_EQ(items_of("\tclose , Keep-Alive\t,x y"), (Items{"close", "Keep-Alive", "x y"}));
}

TEST(Field, HopByHopFieldsStayOnTheirConnection) {
  for (FieldId id : {FieldId::connection, FieldId::keep_alive, FieldId::proxy_authenticate,
                     FieldId::proxy_authorization, FieldId::proxy_connection, FieldId::te,
                     FieldId::trailer, FieldId::transfer_encoding, FieldId::upgrade}) {
    EXPECT_TRUE(is_hop_by_hop(id)) << static_cast<int>(id);
  }
  for (FieldId id : {FieldId::other, FieldId::host, FieldId::authorization, FieldId::content_type,
                     FieldId::idempotency_key, FieldId::date}) {
    EXPECT_FALSE(is_hop_by_hop(id)) << static_cast<int>(id);
  }
}

}  // namespace
}  // namespace oncekey::http
