#include "oncekey/key.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <vector>

#include "boundary/personal_data.h"

namespace oncekey {
namespace {

using Reason = KeyError::Reason;

constexpr std::string_view uuid = "8e03978e-40d5-43e8-bc93-6894a57f9324";

KeyPolicy any_length(KeySyntax syntax = KeySyntax::lenient) {
  KeyPolicy policy;
  policy.syntax = syntax;
  policy.length_min = 1;
  return policy;
}

Result<Key, KeyError> parse(std::string_view line, const KeyPolicy& policy = any_length()) {
  return parse_key(std::span(&line, 1), policy);
}

Result<Key, KeyError> parse_strictly(std::string_view line) {
  return parse(line, any_length(KeySyntax::strict));
}

TEST(Key, QuotedAndBareAreTheSameKey) {
  EXPECT_EQ(parse("abc")->value, "abc");
  EXPECT_EQ(parse("\"abc\"")->value, "abc");
  EXPECT_EQ(parse(" \t\"abc\" \t")->value, "abc");
}

TEST(Key, EscapesInsideQuotesAreUndone) {
  EXPECT_EQ(parse(R"("a\"b\\c")")->value, R"(a"b\c)");
}

TEST(Key, ParametersOfAnItemAreIgnored) {
  EXPECT_EQ(parse(R"("abc";x=1;y;z="q;r";t=:aGk=:;b=?1;d=-1.5;k=tok/en)")->value, "abc");
  EXPECT_EQ(parse_strictly(R"("abc"; x)")->value, "abc");
}

TEST(Key, BareValueIsOpaqueToItsLastCharacter) {
  EXPECT_EQ(parse("abc;x=1")->value, "abc;x=1");
  EXPECT_EQ(parse("a, b")->value, "a, b");
  EXPECT_EQ(parse("a\"b")->value, "a\"b");
}

TEST(Key, MalformedParametersAreRefused) {
  for (const auto* line :
       {R"("abc";)", R"("abc";X=1)", R"("abc";x=)", R"("abc" x)", R"("abc";x=?2)",
        R"("abc", "def")", R"("abc)", R"("a\c")", R"("abc"")"}) {
    ASSERT_FALSE(parse(line).ok()) << line;
    EXPECT_EQ(parse(line).error().reason, Reason::not_a_string) << line;
    ASSERT_FALSE(parse_strictly(line).ok()) << line;
  }
}

TEST(Key, StrictSyntaxWantsAString) {
  for (const auto* line : {"abc", "12", "1.5", "?1", ":aGk=:", "tok", "8e03978e-40d5-43e8"}) {
    ASSERT_FALSE(parse_strictly(line).ok()) << line;
    EXPECT_EQ(parse_strictly(line).error().reason, Reason::not_a_string) << line;
  }
  EXPECT_EQ(parse_strictly("\"abc\"")->value, "abc");
}

TEST(Key, MissingAndSeveralLinesAreDifferentErrors) {
  const KeyPolicy policy;
  EXPECT_EQ(parse_key({}, policy).error().reason, Reason::missing);
  const std::vector<std::string_view> twice = {uuid, uuid};
  EXPECT_EQ(parse_key(twice, policy).error().reason, Reason::several_lines);
}

TEST(Key, EmptyIsRefusedHoweverItIsWritten) {
  for (const auto* line : {"", " ", "\t", "\"\"", " \"\" "}) {
    ASSERT_FALSE(parse(line).ok()) << '[' << line << ']';
    EXPECT_EQ(parse(line).error().reason, Reason::empty) << '[' << line << ']';
  }
}

TEST(Key, ControlAndNonAsciiCharactersAreRefused) {
  for (const std::string_view line :
       {std::string_view("a\x01z"), std::string_view("a\tz"), std::string_view("a\0z", 3),
        std::string_view("a\x7f"), std::string_view("schlüssel"), std::string_view("\"a\nb\"")}) {
    ASSERT_FALSE(parse(line).ok());
    EXPECT_EQ(parse(line).error().reason, Reason::bad_character);
  }
}

TEST(Key, LengthIsThatOfTheKeyWithoutQuotes) {
  const std::string longest(key_length_max, 'k');
  EXPECT_TRUE(parse(longest).ok());
  EXPECT_TRUE(parse('"' + longest + '"').ok());
  EXPECT_EQ(parse(longest + "k").error().reason, Reason::too_long);
  KeyPolicy policy;
  EXPECT_TRUE(parse("0123456789abcdef", policy).ok());
  EXPECT_EQ(parse("0123456789abcde", policy).error().reason, Reason::too_short);
  EXPECT_EQ(parse("\"0123456789abcd\"", policy).error().reason, Reason::too_short);
}

TEST(Key, NoPolicyAllowsMoreThanARecordHolds) {
  KeyPolicy policy = any_length();
  policy.length_max = 100'000;
  EXPECT_EQ(parse(std::string(key_length_max + 1, 'k'), policy).error().reason, Reason::too_long);
}

TEST(Key, DetailSaysWhatToSendAndNeverRepeatsTheKey) {
  KeyPolicy policy;
  policy.personal_data = PersonalData::refuse;
  for (const auto* line : {"\"secret-abcdefghijkl", "secret-abc", "secret.person@example.com"}) {
    const auto key = parse(line, policy);
    ASSERT_FALSE(key.ok()) << line;
    EXPECT_EQ(key.error().detail.find("secret"), std::string::npos) << key.error().detail;
    EXPECT_NE(key.error().detail.find("UUID"), std::string::npos) << key.error().detail;
  }
}

TEST(Key, PersonalDataIsWarnedAboutRefusedOrAllowed) {
  KeyPolicy policy = any_length();
  EXPECT_TRUE(parse("jane.doe@example.com", policy)->personal_data);
  policy.personal_data = PersonalData::refuse;
  EXPECT_EQ(parse("jane.doe@example.com", policy).error().reason, Reason::personal_data);
  policy.personal_data = PersonalData::allow;
  EXPECT_FALSE(parse("jane.doe@example.com", policy)->personal_data);
}

TEST(Key, FromTheBodyIsTakenAsItIs) {
  EXPECT_EQ(check_key("\"abc\"", any_length())->value, "\"abc\"");
  EXPECT_EQ(check_key("", any_length()).error().reason, Reason::empty);
  EXPECT_EQ(check_key("a\nb", any_length()).error().reason, Reason::bad_character);
  EXPECT_EQ(check_key("short", KeyPolicy{}).error().reason, Reason::too_short);
}

TEST(PersonalData, EmailAddressesCardAndPhoneNumbersAreSeen) {
  EXPECT_EQ(find_personal_data("order-17-jane@example.co.uk"), PersonalDataKind::email_address);
  EXPECT_EQ(find_personal_data("4242424242424242"), PersonalDataKind::card_number);
  EXPECT_EQ(find_personal_data("pay-5555 5555 5555 4444-x"), PersonalDataKind::card_number);
  EXPECT_EQ(find_personal_data("3782-822463-10005"), PersonalDataKind::card_number);
  EXPECT_EQ(find_personal_data("+49 30 1234567"), PersonalDataKind::phone_number);
  EXPECT_EQ(find_personal_data("tel:+1(415)555-2671"), PersonalDataKind::phone_number);
}

TEST(PersonalData, NumbersAroundAnIdentifierAreSeen) {
  EXPECT_EQ(find_personal_data("4242424242424242 8e03978e-40d5-43e8-bc93-6894a57f9324"),
            PersonalDataKind::card_number);
  EXPECT_EQ(find_personal_data("8e03978e-40d5-43e8-bc93-6894a57f9324/4242424242424242"),
            PersonalDataKind::card_number);
  EXPECT_EQ(find_personal_data("424242428e03978e-40d5-43e8-bc93-6894a57f932442424242"),
            PersonalDataKind::none);
}

TEST(PersonalData, IdentifiersAreNot) {
  for (const auto* text :
       {"8e03978e-40d5-43e8-bc93-6894a57f9324", "42424242-4242-4242-a000-000000000000",
        "order-42424242-4242-4242-a000-000000000000", "42424242-4242-4242-4242-424242424242",
        "01ARZ3NDEKTSV4RRFFQ69G5FAV", "4242424242424243", "1700000000000",
        "42424242424242424242424242424242", "4242424242424242abcdef0123456789", "a@b",
        "@example.com", "user@localhost", "abc+123456789xyz", "Zm9v/+12345678/abcd==", "1+1"}) {
    EXPECT_EQ(find_personal_data(text), PersonalDataKind::none) << text;
  }
}

std::string hex_text(std::size_t size) {
  return *rc::gen::container<std::string>(size,
                                          rc::gen::elementOf(std::string("0123456789abcdef")));
}

RC_GTEST_PROP(PersonalData, NoUuidIsEverFlagged, ()) {
  // Digits only, so that the groups look as much like a card number as they can.
  auto text = *rc::gen::container<std::string>(36, rc::gen::inRange('0', ':'));
  for (const std::size_t dash : {8, 13, 18, 23}) text[dash] = '-';
  RC_ASSERT(find_personal_data(text) == PersonalDataKind::none);
  RC_ASSERT(find_personal_data("order " + text) == PersonalDataKind::none);
}

RC_GTEST_PROP(PersonalData, NoLongHexadecimalTextIsEverFlagged, ()) {
  RC_ASSERT(find_personal_data(hex_text(32)) == PersonalDataKind::none);
}

RC_GTEST_PROP(Key, WhatIsQuotedComesBack, ()) {
  const auto text =
      *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7F)));
  RC_PRE(text.size() <= key_length_max);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted.push_back('\\');
    quoted.push_back(c);
  }
  quoted.push_back('"');
  RC_ASSERT(parse(quoted)->value == text);
  RC_ASSERT(parse_strictly(quoted)->value == text);
}

RC_GTEST_PROP(Key, NeverBreaksTheRulesWhateverBytesCome, (const std::string& line)) {
  const auto key = parse(line);
  if (!key.ok()) return;
  RC_ASSERT(!key->value.empty());
  RC_ASSERT(key->value.size() <= key_length_max);
  for (const char c : key->value) RC_ASSERT(c >= 0x20 && c <= 0x7E);
}

}  // namespace
}  // namespace oncekey
