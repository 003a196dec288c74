// The command itself: bounds, refusals, and the forms of its report.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "support/certificates.h"
#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/process.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"
#include "support/tls.h"
#include "verify/practice_shop.h"
#include "verify/verify_run.h"

namespace oncekey::test {
namespace {

struct Ended {
  int code = -1;
  std::string output;
};

Ended run(const std::vector<std::string>& words) {
  std::vector<std::string> command = {oncekey_binary(), "verify"};
  command.insert(command.end(), words.begin(), words.end());
  Process process(command);
  const int code = process.wait(Milliseconds(60'000)).value_or(-1);
  // Both streams are closed before a line that nobody writes has been waited for in vain.
  process.wait_for_line([](const std::string&) { return false; }, Milliseconds(1'000));
  return {code, process.output()};
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

TEST(VerifyCommand, PlanSendsNothing) {
  PracticeShop shop(Flaw::none);
  const Ended ended = run({shop.url() + "/orders", "--body", "{\"n\":{{n}}}", "--plan"});
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_NE(ended.output.find("two-simultaneous"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("{\"n\":1}"), std::string::npos) << ended.output;
  EXPECT_EQ(shop.requests(), 0u);
}

TEST(VerifyCommand, NeverSendsMoreThanAllowed) {
  PracticeShop shop(Flaw::none);
  for (const int limit : {2, 7, 30}) {
    const std::size_t before = shop.requests();
    auto ended = verify_orders(shop.url(), {"--max-requests", std::to_string(limit)});
    EXPECT_LE(shop.requests() - before, static_cast<std::size_t>(limit));
    EXPECT_LE(ended.requests, limit);
    EXPECT_EQ(ended.verdicts["well-known"], limit == 2 ? "" : "skipped") << ended.output;
  }
}

TEST(VerifyCommand, EndsWithTwoWhenItCannotCount) {
  PracticeShop shop(Flaw::none);
  for (const char* flag :
       {"--effects-pointer=/elsewhere", "--effects-pointer=/orders/0", "--id-pointer=/order/id"}) {
    const auto ended = verify_orders(shop.url(), {flag});
    EXPECT_EQ(ended.exit_code, 2) << flag << "\n" << ended.output;
  }
}

TEST(VerifyCommand, LeavesForeignHostsAloneUnlessTold) {
  const Ended ended = run({"http://api.example.com/orders"});
  EXPECT_EQ(ended.code, 2);
  EXPECT_NE(ended.output.find("--yes"), std::string::npos) << ended.output;
}

TEST(VerifyCommand, SpeaksTlsToWhomItTrusts) {
  const Authority authority;
  ScriptedUpstream upstream(tls_server(authority.issue()));
  const Ended stranger = run({upstream.url() + "/orders"});
  EXPECT_EQ(stranger.code, 2);
  EXPECT_NE(stranger.output.find("not trusted"), std::string::npos) << stranger.output;
  EXPECT_TRUE(upstream.audit().all().empty());
  const TemporaryFolder folder;
  const std::string ca = folder.write("ca.pem", authority.certificate());
  const Ended trusted = run({upstream.url() + "/orders", "--ca", ca, "--only", "missing-key"});
  EXPECT_EQ(trusted.code, 1) << trusted.output;  // it asks for no key
  EXPECT_FALSE(upstream.audit().all().empty());
}

TEST(VerifyCommand, EndsWithTwoWhenNobodyListens) {
  const Ended ended = run({"http://127.0.0.1:" + std::to_string(free_port()) + "/orders"});
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_NE(ended.output.find("cannot be verified"), std::string::npos) << ended.output;
}

TEST(VerifyCommand, SendsNothingWhenItCannotKeepTheReport) {
  PracticeShop shop(Flaw::none);
  const Ended ended = run({shop.url() + "/orders", "--html", "/nowhere/report.html"});
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_EQ(shop.requests(), 0u);
}

TEST(VerifyCommand, EndsWithTwoWhenTheSampleIsRefused) {
  PracticeShop shop(Flaw::none);
  const Ended ended = run({shop.url() + "/orders", "--body", "{}"});  // without its tenant
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_NE(ended.output.find("who are you?"), std::string::npos) << ended.output;
}

TEST(VerifyCommand, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"--only=no-such-check"},
                                             {"--profile=other"},
                                             {"--status=mismatch=700"},
                                             {"--header=no colon"},
                                             {"--effects-pointer=/orders"},
                                             {"--tenant=A: {env:NOT_SET_AT_ALL}"},
                                             {"--burst=1"},
                                             {"--later=soon"}}) {
    std::vector<std::string> all = {"http://127.0.0.1:1/orders", "--plan"};
    all.insert(all.end(), words.begin(), words.end());
    EXPECT_EQ(run(all).code, 2) << words.front();
  }
}

TEST(VerifyCommand, TakesTheUrlAfterItsFlags) {
  const Ended ended = run({"--plan", "--header", "A: b", "--only", "burst,key-case", "--status",
                           "mismatch=409", "http://127.0.0.1:1/orders"});
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_NE(ended.output.find("key-case"), std::string::npos) << ended.output;
}

TEST(VerifyCommand, ReadsItsFlagsFromAFile) {
  PracticeShop shop(Flaw::none);
  const TemporaryFolder folder;
  const std::string file = folder.write("verify.toml", "url = \"" + shop.url() + "/orders\"\n" +
                                                           R"(body = '{"item":"tea","n":{{n}}}'
tenant = ["X-Tenant: red", "X-Other: one"]
effects = "/count"
effects-pointer = "/orders"
only = ["replay-once", "other-body"]
json = true
)");
  const auto ended = verify_with({"--file", file});
  EXPECT_EQ(ended.exit_code, 0) << ended.output;
  EXPECT_EQ(ended.with("pass"), "accepts other-body replay-once") << ended.output;
}

TEST(VerifyCommand, NamesWhatItsFileShouldNotHold) {
  const TemporaryFolder folder;
  const std::string file =
      folder.write("verify.toml", "url = \"http://127.0.0.1:1/orders\"\nbodi = \"{}\"\n");
  const Ended ended = run({"--file", file, "--plan"});
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_NE(ended.output.find("\"bodi\""), std::string::npos) << ended.output;
}

TEST(VerifyCommand, WritesReportsThatHoldEverythingButSecrets) {
  PracticeShop shop(Flaw::loses_status);
  const TemporaryFolder folder;
  const std::string html = (folder.path() / "report.html").string();
  const std::string junit = (folder.path() / "report.xml").string();
  const auto ended = verify_orders(
      shop.url(), {"--html", html, "--junit", junit, "--header=Authorization: Bearer s3cr3t<&>",
                   "--only=replay-status,replay-body,several-nodes"});
  EXPECT_EQ(ended.exit_code, 1) << ended.output;
  const std::string page = content_of(html);
  EXPECT_EQ(count_of(page, "<details class=\"fail\""), 1u);
  EXPECT_EQ(count_of(page, "<details class=\"pass\""), 2u);
  EXPECT_EQ(count_of(page, "<details class=\"skipped\""), 1u);
  EXPECT_EQ(count_of(page, "<script") + count_of(page, "<link") + count_of(page, "src="), 0u);
  const std::string xml = content_of(junit);
  EXPECT_EQ(count_of(xml, "<testcase"), 4u);
  EXPECT_EQ(count_of(xml, "<failure"), 1u);
  EXPECT_EQ(count_of(xml, "<skipped"), 1u);
  EXPECT_NE(xml.find("failures=\"1\""), std::string::npos);
  for (const std::string& text : {page, xml, ended.json, ended.output}) {
    EXPECT_EQ(text.find("s3cr3t"), std::string::npos);
  }
}

}  // namespace
}  // namespace oncekey::test
