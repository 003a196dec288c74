// The client to servers that speak TLS.
#include <gtest/gtest.h>

#include "oncekey/client.h"
#include "support/certificates.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"
#include "support/tls.h"

namespace oncekey::test {
namespace {

class ClientTls : public testing::Test {
 protected:
  ClientResult run(const std::string& behaviour, const std::string& body = "{}") {
    ClientOptions options;
    options.backoff_ms = 1;
    options.attempts_max = 3;
    options.ca_file = ca_file_;
    ClientOperation operation{.target = "/orders", .body = body};
    operation.headers.push_back({std::string(behaviour_header), behaviour});
    return Client(upstream_.url(), options).run(operation);
  }

  Authority authority_;
  TemporaryFolder folder_;
  ScriptedUpstream upstream_{tls_server(authority_.issue())};
  std::string ca_file_ = folder_.write("ca.pem", authority_.certificate());
};

TEST_F(ClientTls, AnswerOfATrustedServerComes) {
  const std::string body = made_body(2'000'000, true, 1);
  const ClientResult result = run("size=1500000 binary", body);
  ASSERT_TRUE(std::holds_alternative<Finished>(result)) << std::get<GaveUp>(result).detail;
  EXPECT_EQ(std::get<Finished>(result).answer.body.size(), 1'500'000u);
  EXPECT_EQ(std::get<Finished>(result).attempts, 1);
}

TEST_F(ClientTls, StrangerGetsNothing) {
  ca_file_ = folder_.write("other.pem", Authority("other").certificate());
  const ClientResult result = run("");
  const auto& gave_up = std::get<GaveUp>(result);
  EXPECT_EQ(gave_up.why, GaveUp::Why::attempts);
  EXPECT_NE(gave_up.detail.find("not trusted"), std::string::npos) << gave_up.detail;
  EXPECT_TRUE(upstream_.audit().all().empty());
}

TEST_F(ClientTls, FileThatCannotBeReadIsNamedAndNothingIsSent) {
  ca_file_ = "does/not/exist.pem";
  const ClientResult result = run("");
  EXPECT_EQ(std::get<GaveUp>(result).why, GaveUp::Why::invalid);
  EXPECT_NE(std::get<GaveUp>(result).detail.find("does/not/exist.pem"), std::string::npos);
}

TEST_F(ClientTls, CutAnswerIsTriedAgain) {
  upstream_.end_without_notice();
  const ClientResult result = run("to-end first=2");
  ASSERT_TRUE(std::holds_alternative<Finished>(result)) << std::get<GaveUp>(result).detail;
  EXPECT_EQ(std::get<Finished>(result).attempts, 3);
}

}  // namespace
}  // namespace oncekey::test
