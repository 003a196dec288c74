// Requests to servers that speak TLS: what is trusted, and how far a request came.
#include <gtest/gtest.h>

#include "http/client.h"
#include "http/sleep.h"
#include "http/test_loop.h"
#include "http/tls_context.h"
#include "support/certificates.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"
#include "support/tls.h"

namespace oncekey::http {
namespace {

using test::Authority;
using test::Issued;
using test::ScriptedUpstream;

Task<void> send_each(Client& client, const std::vector<std::string>& behaviours, Loop& loop,
                     SteadyMs pause_ms, std::vector<ClientOutcome>& outcomes) {
  for (const std::string& behaviour : behaviours) {
    std::string fields = "X-Test-Behaviour: " + behaviour + "\r\n";
    ClientRequest request{"POST", "/orders", fields, "{\"amount\":1}"};
    ClientOutcome outcome = co_await client.send(request);
    outcomes.push_back(std::move(outcome));
    Sleep pause(loop, pause_ms);
    co_await pause;
  }
}

class TlsClient : public testing::Test {
 protected:
  // The pauses are longer than a busy connection is idle, so that the socket is asked.
  std::vector<ClientOutcome> post(const std::string& url,
                                  const std::vector<std::string>& behaviours,
                                  SteadyMs pause_ms = 20) {
    auto tls = ClientTls::open(tls_);
    EXPECT_TRUE(tls) << tls.error();
    Loop loop;
    ClientOptions options;
    options.tls = *tls;
    options.timeout_ms = 5'000;
    Client client(loop, *parse_destination(url), options);
    std::vector<ClientOutcome> outcomes;
    RunningTasks tasks(loop);
    tasks.add(send_each(client, behaviours, loop, pause_ms, outcomes));
    tasks.wait();
    return outcomes;
  }
  ClientOutcome post(const std::string& url) { return post(url, {"status=201"}).front(); }

  // The reason why nothing was sent to a server with this certificate; "": something was.
  std::string refused(const Issued& server, const std::string& host = "127.0.0.1") {
    ScriptedUpstream upstream(test::tls_server(server));
    const ClientOutcome outcome =
        post("https://" + host + ":" + std::to_string(upstream.port()) + "/");
    EXPECT_EQ(upstream.audit().all().empty(), !std::holds_alternative<Answered>(outcome));
    const auto* nothing = std::get_if<NothingSent>(&outcome);
    return nothing ? nothing->error : "";
  }

  void trust(const Authority& authority) {
    tls_.ca = folder_.write("ca.pem", authority.certificate());
  }

  Authority authority_;
  test::TemporaryFolder folder_;
  ClientTlsOptions tls_;
};

TEST_F(TlsClient, AnswerOfATrustedServerComes) {
  trust(authority_);
  ScriptedUpstream upstream(test::tls_server(authority_.issue()));
  const ClientOutcome outcome = post(upstream.url());
  EXPECT_EQ(std::get<Answered>(outcome).status, 201);
  EXPECT_EQ(upstream.audit().all().size(), 1u);
}

TEST_F(TlsClient, NameAndAddressAreBothVerified) {
  trust(authority_);
  EXPECT_EQ(refused(authority_.issue(), "localhost"), "");
  EXPECT_EQ(refused(authority_.issue(), "127.0.0.1"), "");
  const Issued other = authority_.issue({.alternatives = {"DNS:other.example"}});
  EXPECT_NE(refused(other, "localhost").find("hostname mismatch"), std::string::npos);
  EXPECT_NE(refused(other).find("IP address mismatch"), std::string::npos);
  tls_.server_name = "other.example";
  EXPECT_EQ(refused(other), "");
  EXPECT_NE(refused(authority_.issue()).find("hostname mismatch"), std::string::npos);
}

TEST_F(TlsClient, StrangersAndExpiredCertificatesAreRefused) {
  trust(authority_);
  EXPECT_NE(refused(Authority("stranger").issue()).find("not trusted"), std::string::npos);
  EXPECT_NE(refused(authority_.issue({.expired = true})).find("has expired"), std::string::npos);
  tls_.ca.clear();  // the system's do not know the test's authority
  EXPECT_NE(refused(authority_.issue()).find("not trusted"), std::string::npos);
}

TEST_F(TlsClient, WithoutVerificationAnyCertificateIsTaken) {
  tls_.verify = false;
  EXPECT_EQ(refused(Authority("stranger").issue({.alternatives = {}, .expired = true})), "");
}

TEST_F(TlsClient, ServerThatSpeaksPlainHttpGetsNothing) {
  trust(authority_);
  ScriptedUpstream upstream;
  const ClientOutcome outcome = post("https://127.0.0.1:" + std::to_string(upstream.port()) + "/");
  EXPECT_TRUE(std::holds_alternative<NothingSent>(outcome));
  EXPECT_TRUE(upstream.audit().all().empty());
}

TEST_F(TlsClient, CertificateIsShownToWhoeverAsks) {
  trust(authority_);
  const Authority clients("clients");
  ScriptedUpstream upstream(test::tls_server(authority_.issue(), clients.certificate()));
  const Issued own = clients.issue();
  tls_.cert = folder_.write("own.pem", own.certificate);
  tls_.key = folder_.write("own.key", own.key);
  EXPECT_EQ(std::get<Answered>(post(upstream.url())).status, 201);
  tls_.cert.clear();
  EXPECT_FALSE(std::holds_alternative<Answered>(post(upstream.url())));
  EXPECT_EQ(upstream.audit().all().size(), 1u);
}

TEST_F(TlsClient, TicketsDoNotMakeAnIdleConnectionLookClosed) {
  trust(authority_);
  ScriptedUpstream upstream(test::tls_server(authority_.issue()));
  for (const ClientOutcome& outcome :
       post(upstream.url(), {"status=201", "status=202", "status=203"})) {
    EXPECT_TRUE(std::holds_alternative<Answered>(outcome));
  }
  EXPECT_EQ(upstream.connections_accepted(), 1u);
}

TEST_F(TlsClient, ClosedConnectionIsReplacedByOneThatResumes) {
  trust(authority_);
  ScriptedUpstream upstream(test::tls_server(authority_.issue()));
  // Time for the upstream to have closed.
  const auto outcomes = post(upstream.url(), {"close-silently", "status=202"}, 1'000);
  EXPECT_EQ(std::get<Answered>(outcomes.at(1)).status, 202);
  EXPECT_EQ(upstream.connections_accepted(), 2u);
  EXPECT_EQ(upstream.connections_resumed(), 1u);
}

TEST_F(TlsClient, LargeAnswerComesWhole) {
  trust(authority_);
  ScriptedUpstream upstream(test::tls_server(authority_.issue()));
  for (const char* framing : {"", " chunked", " to-end"}) {
    const auto outcome = post(upstream.url(), {"size=60000" + std::string(framing)}).front();
    EXPECT_EQ(std::get<Answered>(outcome).body.size(), 60'000u) << framing;
  }
}

// An attacker can cut a connection, but cannot make up a close_notify.
TEST_F(TlsClient, BodyWithoutLengthThatEndsWithoutNoticeIsCut) {
  trust(authority_);
  ScriptedUpstream upstream(test::tls_server(authority_.issue()));
  EXPECT_TRUE(std::holds_alternative<Answered>(post(upstream.url(), {"to-end"}).front()));
  upstream.end_without_notice();
  EXPECT_TRUE(std::holds_alternative<NoAnswer>(post(upstream.url(), {"to-end"}).front()));
  EXPECT_TRUE(std::holds_alternative<Answered>(post(upstream.url(), {"close"}).front()));
}

TEST_F(TlsClient, EndAfterTheRequestIsNoAnswer) {
  trust(authority_);
  ScriptedUpstream upstream(test::tls_server(authority_.issue()));
  for (const char* ending : {"reset-unanswered", "reset-at-first-byte", "cut-body"}) {
    EXPECT_TRUE(std::holds_alternative<NoAnswer>(post(upstream.url(), {ending}).front())) << ending;
  }
}

TEST_F(TlsClient, FilesThatCannotBeReadAreNamed) {
  tls_.ca = folder_.path() / "absent.pem";
  EXPECT_EQ(ClientTls::open(tls_).error(), "ca \"" + tls_.ca + "\": No such file or directory");
}

TEST(TlsHost, HasNoPortAndNoBrackets) {
  EXPECT_EQ(host_without_port("api.example:443"), "api.example");
  EXPECT_EQ(host_without_port("[::1]:8443"), "::1");
}

}  // namespace
}  // namespace oncekey::http
