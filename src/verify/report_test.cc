#include "verify/report.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

namespace oncekey::verify {
namespace {

CheckResult result_of(Verdict verdict) {
  CheckResult result;
  result.check = all_checks().front();
  result.finding = {verdict, "<b>&\x01"};
  return result;
}

TEST(Report, IsSafeOnlyWhenEverythingWasCheckedAndHolds) {
  Report report;
  report.results = {result_of(Verdict::pass)};
  EXPECT_EQ(report.conclusion(), "Safe to retry: 1 promise holds.");
  report.results.push_back(result_of(Verdict::skipped));
  EXPECT_EQ(report.conclusion(), "No broken promise found: 1 promise holds; 1 not checked.");
  report.results.push_back(result_of(Verdict::fail));
  EXPECT_EQ(report.conclusion(), "Not safe to retry: 1 promise is broken.");
}

TEST(Report, WhatAnApiSaysIsNeverMarkup) {
  Report report;
  report.url = "http://<script>";
  report.results = {result_of(Verdict::fail)};
  for (const std::string& text : {to_html(report), to_junit(report)}) {
    EXPECT_EQ(text.find("<script>"), std::string::npos);
    EXPECT_EQ(text.find("<b>&"), std::string::npos);
    EXPECT_EQ(text.find('\x01'), std::string::npos);
    EXPECT_NE(text.find("&lt;b&gt;&amp;"), std::string::npos);
  }
}

TEST(Report, WhatAnApiSaysCannotSteerATerminal) {
  EXPECT_EQ(printable("a\x1b[2J\xff\xc2\x9b\x7f€\n"), "a\uFFFD[2J\uFFFD\uFFFD\uFFFD€\n");
  CheckResult result = result_of(Verdict::fail);
  EXPECT_EQ(text_line(result, {}).find('\x01'), std::string::npos);
}

TEST(Checks, HaveIdsOfTheirOwnAndSayEverything) {
  std::set<std::string_view> ids;
  for (const Check& check : all_checks()) {
    EXPECT_TRUE(ids.insert(check.id).second) << check.id;
    EXPECT_FALSE(check.promise.empty() || check.sends.empty() || check.meaning.empty()) << check.id;
    EXPECT_NE(check.run, nullptr) << check.id;
  }
  EXPECT_EQ(all_checks().front().id, "accepts");
}

TEST(Checks, CoverTheQuestionsThatCanBeSeenFromOutside) {
  std::set<std::string_view> asked;
  for (const Check& check : all_checks()) asked.insert(check.question);
  for (const char* question :
       {"Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q10", "Q12", "Q16", "Q18"}) {
    EXPECT_TRUE(asked.contains(question)) << question;
  }
}

TEST(Checks, AreAllDescribedInTheManual) {
  std::ifstream file(ONCEKEY_SOURCE_DIR "/docs/verify.md");
  std::ostringstream text;
  text << file.rdbuf();
  for (const Check& check : all_checks()) {
    const std::string row = "| `" + std::string(check.id) + "`";
    EXPECT_NE(text.str().find(row), std::string::npos) << check.id;
    EXPECT_NE(text.str().find(check.promise), std::string::npos) << check.id;
  }
}

TEST(Place, IsReadFromAUrl) {
  const auto place = parse_place("http://localhost:81/a/b?c=d#e");
  ASSERT_TRUE(place);
  EXPECT_EQ(place->target, "/a/b?c=d");
  EXPECT_TRUE(place->local());
  EXPECT_EQ(parse_place("http://127.0.0.1?x")->target, "/?x");
  EXPECT_TRUE(parse_place("http://[::1]:8080/")->local());
  EXPECT_FALSE(parse_place("http://127.example.com/")->local());
  EXPECT_FALSE(parse_place("http://localhost.example.com/")->local());
  EXPECT_TRUE(parse_place("https://localhost/")->server.secure);
  EXPECT_TRUE(parse_place("https://localhost/")->local());
  EXPECT_FALSE(parse_place("ftp://localhost/"));
  EXPECT_FALSE(parse_place("localhost/"));
}

TEST(Profile, StatusesCanBeChanged) {
  auto expected = *expectations_of("stripe");
  EXPECT_EQ(expected.mismatch, 400);
  EXPECT_EQ(change_status(expected, "mismatch=409"), "");
  EXPECT_EQ(expected.mismatch, 409);
  for (const char* wrong : {"mismatch", "other=409", "mismatch=200", "mismatch=4x9", "mismatch="}) {
    EXPECT_NE(change_status(expected, wrong), "") << wrong;
  }
  EXPECT_FALSE(expectations_of("other"));
}

TEST(Operation, GetsItsOwnValues) {
  const Operation operation{"k", "u-1", 7, ""};
  EXPECT_EQ(fill_in("{{n}} {{uuid}} {{n}} {{other}}", operation), "7 u-1 7 {{other}}");
  EXPECT_TRUE(has_placeholder("a{{n}}"));
  EXPECT_FALSE(has_placeholder("a{{m}}"));
  EXPECT_EQ(altered("{}"), R"({"oncekey_verify":"other"})");
  EXPECT_EQ(altered("a=1"), "a=1&oncekey_verify=other");
}

}  // namespace
}  // namespace oncekey::verify
