#include "store/answer_seal.h"

#include <gtest/gtest.h>

namespace oncekey::store {
namespace {

constexpr std::string_view first_key = "2026-01 AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
constexpr std::string_view second_key = "2026-02 /////////////////////////////////////////wA=";

std::shared_ptr<const SealKeys> keys_of(const std::string& text) {
  auto keys = SealKeys::parse(text);
  EXPECT_TRUE(keys) << keys.error();
  return keys ? *keys : nullptr;
}

std::string error_of(const std::string& text) {
  auto keys = SealKeys::parse(text);
  return keys ? "" : keys.error();
}

StoredResponse answer() {
  StoredResponse response;
  response.status = 201;
  response.headers = {{"Location", "/orders/canary-1"}};
  response.body = "{\"card\":\"canary-2\"}";
  return response;
}

const RecordId order{"shop", "order-4711"};

TEST(SealKeys, TheFirstLineSealsAndAllOpen) {
  const auto keys =
      keys_of("# rotated\n\n" + std::string(second_key) + "\r\n" + std::string(first_key));
  EXPECT_EQ(keys->size(), 2u);
  EXPECT_EQ(keys->sealing().id, "2026-02");
  ASSERT_NE(keys->find("2026-01"), nullptr);
  EXPECT_EQ(keys->find("2026-01")->bytes[31], 31);
  EXPECT_EQ(keys->find("2026-03"), nullptr);
}

TEST(SealKeys, WhatIsNoKeyIsNamedByItsLineAndNotRepeated) {
  EXPECT_EQ(error_of("").substr(0, 21), "there is no key in it");
  EXPECT_EQ(error_of("# nothing\n").substr(0, 21), "there is no key in it");
  for (const char* text : {"x", "a/b AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="}) {
    EXPECT_EQ(error_of(text).substr(0, 24), "line 1: expected a name ") << text;
  }
  for (const char* text : {"k secret", "k AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",
                           "k AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",
                           "k AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd!h8=",
                           "k AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=AAAA"}) {
    const std::string error = error_of("\n" + std::string(text));
    EXPECT_EQ(error.substr(0, 30), "line 2: the key k is not the b") << text;
    EXPECT_EQ(error.find(text + 2), std::string::npos) << "the error repeats the key";
  }
  const std::string twice = std::string(first_key) + "\n" + std::string(first_key);
  EXPECT_EQ(error_of(twice), "line 2: the name 2026-01 comes twice");
}

TEST(AnswerSeal, OpensToWhatWasSealedAndShowsNothingMeanwhile) {
  const auto keys = keys_of(std::string(first_key));
  AnswerSeal seal;
  const auto sealed = seal.seal(keys->sealing(), order, answer());
  EXPECT_EQ(sealed->status, 201);
  EXPECT_TRUE(sealed->headers.empty());
  EXPECT_EQ(sealed->body_encoding, BodyEncoding::sealed);
  EXPECT_EQ(sealed->body.find("canary"), std::string::npos);
  const auto opened = seal.open(*keys, order, *sealed);
  ASSERT_TRUE(opened) << opened.error();
  EXPECT_EQ(**opened, answer());
}

TEST(AnswerSeal, NoTwoSealsAreAlike) {
  const auto keys = keys_of(std::string(first_key));
  AnswerSeal seal;
  EXPECT_NE(seal.seal(keys->sealing(), order, answer())->body,
            seal.seal(keys->sealing(), order, answer())->body);
}

TEST(AnswerSeal, AfterARotationOldAnswersOpen) {
  const auto before = keys_of(std::string(first_key));
  const auto after = keys_of(std::string(second_key) + "\n" + std::string(first_key));
  AnswerSeal seal;
  const auto old_answer = seal.seal(before->sealing(), order, answer());
  const auto new_answer = seal.seal(after->sealing(), order, answer());
  EXPECT_TRUE(seal.open(*after, order, *old_answer));
  EXPECT_TRUE(seal.open(*after, order, *new_answer));
  const auto refused = seal.open(*before, order, *new_answer);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error(), "the key \"2026-02\" is not among the encryption keys");
}

TEST(AnswerSeal, AnotherKeyOfTheSameNameOpensNothing) {
  const auto keys = keys_of(std::string(first_key));
  const auto other = keys_of("2026-01" + std::string(second_key.substr(7)));
  AnswerSeal seal;
  const auto refused = seal.open(*other, order, *seal.seal(keys->sealing(), order, answer()));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().find("does not open it"), std::string::npos) << refused.error();
}

TEST(AnswerSeal, IsBoundToItsRecordAndStatus) {
  const auto keys = keys_of(std::string(first_key));
  AnswerSeal seal;
  const auto sealed = seal.seal(keys->sealing(), order, answer());
  EXPECT_FALSE(seal.open(*keys, {"shop", "order-4712"}, *sealed));
  EXPECT_FALSE(seal.open(*keys, {"shoporder", "-4711"}, *sealed));
  StoredResponse other_status = *sealed;
  other_status.status = 200;
  EXPECT_FALSE(seal.open(*keys, order, other_status));
}

TEST(AnswerSeal, EveryAlteredOrMissingByteIsNoticed) {
  const auto keys = keys_of(std::string(first_key));
  AnswerSeal seal;
  const auto sealed = seal.seal(keys->sealing(), order, answer());
  for (std::size_t i = 0; i < sealed->body.size(); ++i) {
    StoredResponse altered = *sealed;
    altered.body[i] = static_cast<char>(altered.body[i] ^ 1);
    EXPECT_FALSE(seal.open(*keys, order, altered)) << "byte " << i;
    StoredResponse cut = *sealed;
    cut.body.resize(i);
    EXPECT_FALSE(seal.open(*keys, order, cut)) << "cut at " << i;
  }
}

}  // namespace
}  // namespace oncekey::store
