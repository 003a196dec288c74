#include "identity/base64url.h"

#include <gtest/gtest.h>

#include <random>

#include "support/token_maker.h"

namespace oncekey::identity {
namespace {

TEST(Base64url, ReadsWhatWasWritten) {
  std::mt19937 random(7);
  for (std::size_t size = 0; size < 100; ++size) {
    std::string bytes(size, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random());
    EXPECT_EQ(decode_base64url(test::base64url(bytes)), bytes);
  }
}

TEST(Base64url, NothingHasTwoTexts) {
  for (const std::string_view text : {"YQ==", "YWI=", "YQ=", "Y", "YWJjZ", "YQ ", " YQ", "Y\nQ",
                                      "YW+/", "YW\xc3\xa9", "YR", "YWJ", "YWK", "YQ.", "Y Q"}) {
    EXPECT_EQ(decode_base64url(text), std::nullopt) << text;
  }
  EXPECT_EQ(decode_base64url("YQ"), "a");
  EXPECT_EQ(decode_base64url("YWI"), "ab");
  EXPECT_EQ(decode_base64url("-_8"), "\xfb\xff");
}

// Every text of up to three characters is refused, or is the only one of its bytes.
TEST(Base64url, AcceptedTextsAreTheEncodersOwn) {
  const std::string alphabet = "AZaz09-_+/= B";
  for (const char a : alphabet) {
    for (const char b : alphabet) {
      for (const char c : alphabet) {
        const std::string text{a, b, c};
        for (const std::string& tried : {text, text.substr(1), text + "Q"}) {
          if (const auto bytes = decode_base64url(tried)) {
            EXPECT_EQ(test::base64url(*bytes), tried);
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace oncekey::identity
