#include "boundary/form.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

namespace oncekey {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

void expect_same(std::string_view a, std::string_view b) {
  ASSERT_TRUE(canonical_form(a).has_value()) << a;
  EXPECT_EQ(canonical_form(a), canonical_form(b)) << a << " and " << b;
}

void expect_different(std::string_view a, std::string_view b) {
  EXPECT_NE(canonical_form(a), canonical_form(b)) << a << " and " << b;
}

TEST(Form, OrderOfDifferentFieldsDoesNotMatter) {
  expect_same("amount=5&currency=eur", "currency=eur&amount=5");
}

TEST(Form, OrderAmongEqualNamesMatters) {
  expect_different("a=1&a=2", "a=2&a=1");
  expect_same("a=1&b=x&a=2", "b=x&a=1&a=2");
  expect_different("a=1", "a=1&a=1");
}

TEST(Form, ListNotationKeepsTheOrderOfItsFields) {
  expect_different("i[][id]=1&i[][n]=2&i[][id]=3", "i[][id]=1&i[][id]=3&i[][n]=2");
  expect_different("a[]=1&a[5]=2", "a[5]=2&a[]=1");
  expect_same("i[]=1&b=2&i[]=3", "b=2&i[]=1&i[]=3");
  expect_same("card[number]=4&card[cvc]=1", "card[cvc]=1&card[number]=4");
}

TEST(Form, WaysToEscapeDoNotMatter) {
  expect_same("a=b+c", "a=b%20c");
  expect_same("%61=%2b%2B", "a=%2B%2b");
  expect_different("a=%2B", "a=+");
}

TEST(Form, SeparatorsCannotBeForged) {
  expect_different("a=1%26b%3D2", "a=1&b=2");
  expect_different("a%3D1=2", "a=1=2");
  expect_different("ab=c", "a=bc");
  expect_different("a", "a=");
  expect_different("a=1&", "a=1");
  expect_different("", "&");
}

TEST(Form, BrokenEscapesHaveNoForm) {
  for (const auto* body : {"a=%", "a=%2", "a=%zz", "%4=1", "a=1&b=%G0"}) {
    EXPECT_FALSE(canonical_form(body).has_value()) << body;
  }
}

std::string encode(const Fields& fields) {
  constexpr char hex[] = "0123456789ABCDEF";
  std::string body;
  const auto append = [&](const std::string& text) {
    for (const char c : text) {
      body.push_back('%');
      body.push_back(hex[static_cast<unsigned char>(c) >> 4]);
      body.push_back(hex[c & 0xF]);
    }
  };
  for (const auto& [name, value] : fields) {
    if (!body.empty()) body.push_back('&');
    append(name);
    body.push_back('=');
    append(value);
  }
  return body;
}

RC_GTEST_PROP(Form, EqualExactlyWhenTheValuesByNameAreEqual, ()) {
  // Few names and values, so that equal forms are not rare.
  const auto few = rc::gen::container<std::string>(rc::gen::inRange('a', 'c'));
  const auto a = *rc::gen::container<Fields>(rc::gen::pair(few, few));
  const auto b = *rc::gen::oneOf(rc::gen::container<Fields>(rc::gen::pair(few, few)),
                                 rc::gen::just(Fields(a.rbegin(), a.rend())), rc::gen::just(a));
  const auto by_name = [](const Fields& fields) {
    std::map<std::string, std::vector<std::string>> values;
    for (const auto& [name, value] : fields) values[name].push_back(value);
    return values;
  };
  const bool same = by_name(a) == by_name(b);
  RC_ASSERT((canonical_form(encode(a)) == canonical_form(encode(b))) == same);
}

}  // namespace
}  // namespace oncekey
