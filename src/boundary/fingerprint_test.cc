#include "oncekey/fingerprint.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <set>
#include <thread>
#include <vector>

#include "boundary/json_writer.h"
#include "boundary/media_type.h"

namespace oncekey {
namespace {

constexpr std::string_view secret = "0123456789abcdef0123456789abcdef";

const Fingerprinter& fingerprinter() {
  static const Fingerprinter instance(secret);
  return instance;
}

Fingerprint of(std::string_view body, std::string_view content_type = "application/json",
               const FingerprintRules& rules = {}) {
  return fingerprinter().compute({"tenant", "POST", "/payments", content_type, body}, rules);
}

std::string hex(const Fingerprint& fingerprint) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (const auto byte : fingerprint.digest) {
    text.push_back(digits[byte >> 4]);
    text.push_back(digits[byte & 0xF]);
  }
  return text;
}

TEST(Fingerprint, CarriesItsVersion) {
  EXPECT_EQ(of("{}").version, Fingerprinter::current_version);
}

TEST(Fingerprint, StaysTheSameFromReleaseToRelease) {
  // Stored digests must stay comparable: a change here needs a new version.
  EXPECT_EQ(hex(of(R"({"amount":1250,"currency":"EUR"})")),
            "54ca8112ccfc10caefc7a97653962a6b9f20444aeec245f8f0dd9eb93f19d3f1");
  EXPECT_EQ(hex(of("a=1&b=2", "application/x-www-form-urlencoded")),
            "0cfbb32a4120621610080b2111cb49671745f8caea8cab5ec5b42f893853293e");
  EXPECT_EQ(hex(of("bytes", "text/plain")),
            "1550f0145b64aac41319af64c8b70f9ddc08d263cb449db2614bc9ce5a646099");
  EXPECT_EQ(hex(of("", "")), "02162527d18bc77219ca4b50c2ba4e86734b9333fc7dc0c67ee83669ab2c59f6");
}

TEST(Fingerprint, EveryPartOfTheRequestCounts) {
  const FingerprintInput first{"t", "POST", "/a", "application/json", "{}"};
  std::vector<FingerprintInput> others(8, first);
  others[0].tenant = "u";
  others[1].method = "PATCH";
  others[2].target = "/a?x";
  others[3].content_type = "application/vnd.v2+json";
  others[4].body = "[]";
  others[5].body = "";
  others[6].content_encoding = "gzip";
  others[7].first_sent = "2026-11-16T06:00:00Z";
  for (const auto& other : others) {
    EXPECT_NE(fingerprinter().compute(first, {}), fingerprinter().compute(other, {}));
  }
}

TEST(Fingerprint, PartsCannotFlowIntoEachOther) {
  const auto compute = [](std::string_view tenant, std::string_view method,
                          std::string_view target) {
    return fingerprinter().compute({tenant, method, target, "", ""}, {});
  };
  EXPECT_NE(compute("ab", "c", "/"), compute("a", "bc", "/"));
  EXPECT_NE(compute("a", "POST/", ""), compute("a", "POST", "/"));
}

TEST(Fingerprint, SecretMattersAndMustNotBeShort) {
  const Fingerprinter other("another secret of some length");
  const FingerprintInput input{"t", "POST", "/", "", "x"};
  EXPECT_NE(fingerprinter().compute(input, {}), other.compute(input, {}));
  EXPECT_EQ(fingerprinter().compute(input, {}), Fingerprinter(secret).compute(input, {}));
  EXPECT_THROW(Fingerprinter("short"), std::invalid_argument);
}

TEST(Fingerprint, MovedFingerprinterGivesTheSameDigests) {
  Fingerprinter first(secret);
  const FingerprintInput input{"t", "POST", "/", "", "x"};
  const auto before = first.compute(input, {});
  const Fingerprinter second(std::move(first));
  EXPECT_EQ(second.compute(input, {}), before);
}

TEST(Fingerprint, IsTheSameInEveryThread) {
  const auto expected = of(R"({"b":1,"a":[2,3]})");
  std::vector<std::thread> threads;
  std::atomic<int> different = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) different += of(R"({"a":[2,3],"b":1})") != expected;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(different, 0);
}

TEST(Fingerprint, SpellingOfJsonDoesNotMatterButBytesOfTextDo) {
  EXPECT_EQ(of(R"({"a":1,"b":2})"), of(R"({ "b": 2.0, "\u0061": 1 })"));
  EXPECT_EQ(of("{}"), of(" {} ", "Application/JSON; charset=UTF-8"));
  EXPECT_NE(of("{}", "text/plain"), of(" {} ", "text/plain"));
  EXPECT_EQ(of(R"({"a":1,"b":2})", "application/merge-patch+json"),
            of(R"({"b":2,"a":1})", "application/merge-patch+json"));
}

TEST(Fingerprint, BodiesWithoutCanonicalFormCountByTheirBytes) {
  EXPECT_EQ(of(R"({"a":1,"a":2})"), of(R"({"a":1,"a":2})"));
  EXPECT_NE(of(R"({"a":1,"a":2})"), of(R"({"a":2,"a":1})"));
  EXPECT_NE(of(R"({"a":1,"a":2})"), of(R"({"a":1, "a":2})"));
  EXPECT_NE(of("a=%zz", "application/x-www-form-urlencoded"),
            of("a=%zZ", "application/x-www-form-urlencoded"));
  EXPECT_NE(of("{"), of("{}"));
}

TEST(Fingerprint, NumbersThatADoubleConfusesAreDifferentRequests) {
  EXPECT_NE(of(R"({"amount":9007199254740993})"), of(R"({"amount":9007199254740992})"));
  EXPECT_NE(of(R"({"amount":0.1})"), of(R"({"amount":0.1000000000000000055})"));
  EXPECT_NE(of("1e400"), of("1e500"));
}

TEST(Fingerprint, ExcludedFieldsMayChange) {
  const FingerprintRules rules{{}, {"/clientTimestamp"}};
  EXPECT_EQ(of(R"({"a":1,"clientTimestamp":1})", "application/json", rules),
            of(R"({"clientTimestamp":2,"a":1})", "application/json", rules));
  EXPECT_NE(of(R"({"a":1,"clientTimestamp":1})", "application/json", rules),
            of(R"({"a":2,"clientTimestamp":1})", "application/json", rules));
}

TEST(MediaType, SaysHowToReadABody) {
  EXPECT_EQ(body_kind("application/json"), BodyKind::json);
  EXPECT_EQ(body_kind(" APPLICATION/Json ;charset=utf-8"), BodyKind::json);
  EXPECT_EQ(body_kind("application/problem+json"), BodyKind::json);
  EXPECT_EQ(body_kind("application/x-www-form-urlencoded"), BodyKind::form);
  EXPECT_EQ(body_kind("text/json-ish"), BodyKind::other);
  EXPECT_EQ(body_kind("+json"), BodyKind::other);
  EXPECT_EQ(body_kind(""), BodyKind::other);
}

TEST(MediaType, OnlyMeaninglessParametersAreDropped) {
  const auto normal = [](std::string_view content_type) {
    std::string out;
    append_media_type(out, content_type);
    return out;
  };
  EXPECT_EQ(normal("Application/JSON; Charset=\"UTF-8\""), "application/json");
  EXPECT_EQ(normal("application/json; v=2"), "application/json;v=2");
  EXPECT_EQ(normal("text/plain; charset=utf-8"), "text/plain;charset=utf-8");
  EXPECT_EQ(normal("multipart/form-data; boundary=A"), "multipart/form-data;boundary=A");
  EXPECT_EQ(normal("text/plain;"), "text/plain");
}

// A document with a fixed shape of random content, written in one of many ways.
struct Payment {
  std::vector<std::string> names;
  std::vector<std::string> values;
  std::int64_t amount = 0;
};

std::string spell(const std::string& text, bool escaped) {
  std::string out = "\"";
  for (const char c : text) {
    if (escaped) {
      char unit[8];
      std::snprintf(unit, sizeof unit, "\\u%04x", static_cast<unsigned>(c));
      out.append(unit);
    } else {
      std::string one;
      append_json_string(one, std::string_view(&c, 1));
      out.append(one, 1, one.size() - 2);
    }
  }
  return out + '"';
}

std::string write(const Payment& payment, const std::vector<std::size_t>& order, bool escaped,
                  const std::string& space, const std::string& zeros) {
  std::string out =
      "{" + space + "\"amount\"" + space + ":" + std::to_string(payment.amount) + zeros;
  for (const std::size_t i : order) {
    out += space + "," + space + spell("n" + payment.names[i], escaped) + ":" + space + "[" +
           spell(payment.values[i], escaped) + "]";
  }
  return out + space + "}" + space;
}

Payment any_payment() {
  const auto ascii = rc::gen::container<std::string>(rc::gen::inRange<char>(0, 127));
  const auto names = *rc::gen::container<std::set<std::string>>(ascii);
  Payment payment;
  payment.names.assign(names.begin(), names.end());
  payment.values = *rc::gen::container<std::vector<std::string>>(names.size(), ascii);
  payment.amount = *rc::gen::arbitrary<std::int64_t>();
  return payment;
}

std::vector<std::size_t> any_order(std::size_t size) {
  std::vector<std::pair<std::uint32_t, std::size_t>> keyed;
  for (std::size_t i = 0; i < size; ++i)
    keyed.emplace_back(*rc::gen::arbitrary<std::uint32_t>(), i);
  std::sort(keyed.begin(), keyed.end());
  std::vector<std::size_t> order;
  for (const auto& entry : keyed) order.push_back(entry.second);
  return order;
}

RC_GTEST_PROP(Fingerprint, AnotherSpellingOfTheSameDocumentIsTheSameRequest, ()) {
  const auto payment = any_payment();
  const auto size = payment.names.size();
  const auto space = *rc::gen::container<std::string>(rc::gen::elementOf(std::string(" \t\r\n")));
  const auto zeros = *rc::gen::element<std::string>("", ".0", "e0", ".000E+0");
  const auto one = write(payment, any_order(size), false, "", "");
  const auto other = write(payment, any_order(size), *rc::gen::arbitrary<bool>(), space, zeros);
  RC_ASSERT(of(one) == of(other));
}

RC_GTEST_PROP(Fingerprint, ChangingOneValueIsAnotherRequest, ()) {
  const auto payment = any_payment();
  const auto order = any_order(payment.names.size());
  const auto before = of(write(payment, order, false, "", ""));
  auto changed = payment;
  changed.amount = *rc::gen::distinctFrom(payment.amount);
  RC_ASSERT(of(write(changed, order, false, "", "")) != before);
  if (payment.values.empty()) return;
  changed = payment;
  const auto at = *rc::gen::inRange<std::size_t>(0, payment.values.size());
  changed.values[at].push_back('x');
  RC_ASSERT(of(write(changed, order, false, "", "")) != before);
}

}  // namespace
}  // namespace oncekey
