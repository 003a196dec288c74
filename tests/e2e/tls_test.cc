// TLS on both sides of the gateway: what is trusted, what is refused, and what that says of a key.
#include "support/tls.h"
#include "e2e/gateway_fixture.h"
#include "support/certificates.h"

namespace oncekey::test {
namespace {

class TlsAtTheGateway : public GatewayFixture {
 protected:
  void write(const Issued& issued) {
    folder_.write("cert.pem", issued.certificate);
    folder_.write("key.pem", issued.key);
  }

  void serve_tls(const std::string& more_of_tls = "", const std::string& toml = "") {
    write(authority_.issue());
    const std::string here = folder_.path().string();
    serve(toml + "[tls]\ncert = \"" + here + "/cert.pem\"\nkey = \"" + here + "/key.pem\"\n" +
          more_of_tls);
  }
  std::string client_ca() {
    return "client_ca = \"" + folder_.write("clients.pem", clients_.certificate()) + "\"\n";
  }

  Socket connect(std::optional<Issued> own = std::nullopt) {
    return connect_tls(gateway_->port(),
                       tls_client({.ca = authority_.certificate(), .own = std::move(own)}));
  }
  HttpResponse send(const HttpRequest& request, std::optional<Issued> own = std::nullopt) {
    HttpConnection connection(connect(std::move(own)));
    return connection.exchange(request);
  }

  Authority authority_, clients_{"clients"};
  TemporaryFolder folder_;
};

TEST_F(TlsAtTheGateway, RequestRunsOnceAndIsReplayed) {
  serve_tls();
  HttpConnection connection(connect());
  const HttpResponse first = connection.exchange(order(key_a, "echo"));
  EXPECT_EQ(first.status, 201) << first.failure;
  const HttpResponse again = connection.exchange(order(key_a));
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(send(order(key_a)).body, first.body);
  EXPECT_EQ(arrivals(key_a), 1u);
  const HttpMessage sent = upstream_.audit().of_key(key_a).at(0).request;
  EXPECT_EQ(sent.header("X-Forwarded-Proto"), "https");
  EXPECT_NE(sent.header("Forwarded").find(";proto=https"), std::string::npos);
}

TEST_F(TlsAtTheGateway, LargeBodiesAndPipelinedRequestsPass) {
  serve_tls("",
            "[[route]]\nmatch = \"POST *\"\nbody_limit = \"8MiB\"\nresponse_limit = \"8MiB\"\n");
  HttpConnection connection(connect());
  const std::string body = made_body(5'000'000, true, 1);
  const HttpResponse large = connection.exchange(order(key_a, "size=5000000 binary", body));
  EXPECT_EQ(large.body, upstream_.audit().of_key(key_a).at(0).answer);
  EXPECT_EQ(large.body.size(), 5'000'000u);
  std::string bytes;
  for (int i = 0; i < 20; ++i) bytes += order("pipelined-order-key-" + std::to_string(i)).bytes();
  ASSERT_TRUE(connection.send(bytes));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(connection.receive().status, 201) << i;
}

TEST_F(TlsAtTheGateway, PlainRequestIsToldAndNothingArrives) {
  serve_tls();
  const HttpResponse response = gateway_->send(order(key_a));
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("HTTPS"), std::string::npos) << response.body;
  EXPECT_EQ(arrivals(key_a), 0u);
}

TEST_F(TlsAtTheGateway, SlowHandshakeIsEndedAndHoldsUpNobody) {
  serve_tls("", "[timeouts]\nheader = \"300ms\"\n");
  std::vector<Socket> silent;
  for (int i = 0; i < 50; ++i) silent.push_back(connect_loopback(gateway_->port()));
  EXPECT_EQ(send(order(key_a)).status, 201);
  for (Socket& socket : silent) {
    std::string nothing;
    EXPECT_EQ(socket.receive(nothing, deadline_in(patience)), Socket::Received::end);
  }
}

TEST_F(TlsAtTheGateway, RequiredClientCertificateKeepsOthersOut) {
  serve_tls("client_certificates = \"required\"\n" + client_ca());
  EXPECT_EQ(send(order(key_a), clients_.issue()).status, 201);
  EXPECT_EQ(send(order(key_b)).status, 0);
  EXPECT_EQ(send(order(key_b), Authority("strangers").issue()).status, 0);
  EXPECT_EQ(send(order(key_b), clients_.issue({.expired = true})).status, 0);
  EXPECT_EQ(arrivals(key_b), 0u);
}

TEST_F(TlsAtTheGateway, OptionalClientCertificateMayBeMissingButNotBad) {
  serve_tls("client_certificates = \"optional\"\n" + client_ca());
  EXPECT_EQ(send(order(key_a)).status, 201);
  EXPECT_EQ(send(order(key_a), clients_.issue()).status, 201);
  EXPECT_EQ(send(order(key_b), Authority("strangers").issue()).status, 0);
}

TEST_F(TlsAtTheGateway, ChangedCertificateIsForNewConnectionsAndABadOneIsRefused) {
  serve_tls();
  HttpConnection old(connect());
  EXPECT_EQ(old.exchange(order(key_a)).status, 201);
  write(authority_.issue({.common_name = "renewed"}));
  ASSERT_NE(gateway_->log_line("/event", "certificate_reloaded"), "");
  EXPECT_EQ(peer_common_name(connect()), "renewed");
  EXPECT_EQ(old.exchange(order(key_b)).status, 201);
  EXPECT_EQ(peer_common_name(old.socket()), "localhost");

  folder_.write("key.pem", authority_.issue().key);
  const std::string refusal = gateway_->log_line("/event", "certificate_refused");
  EXPECT_NE(json_text(refusal, "/reason").find("key values mismatch"), std::string::npos)
      << refusal;
  EXPECT_EQ(peer_common_name(connect()), "renewed");
  EXPECT_EQ(old.exchange(order(key_b)).header("Idempotency-Replayed"), "true");
}

TEST_F(TlsAtTheGateway, ResultOfAClientThatLeftIsRecorded) {
  serve_tls();
  {
    HttpConnection leaving(connect());
    leaving.send(order(key_a, "hold=work").bytes());
    ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
    leaving.socket().reset();
  }
  upstream_.open_gate("work");
  ASSERT_TRUE(eventually([this] { return record(key_a, "/state") == "completed"; }));
  const HttpResponse retry = send(order(key_a));
  EXPECT_EQ(retry.status, 201);
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(TlsAtTheGateway, DrainClosesIdleConnectionsInOrder) {
  serve_tls();
  HttpConnection idle(connect());
  EXPECT_EQ(idle.exchange(order(key_a)).status, 201);
  Socket shaking = connect_loopback(gateway_->port());
  EXPECT_EQ(gateway_->stop(), 0);
  EXPECT_TRUE(idle.ends());
}

TEST_F(TlsAtTheGateway, CertificateThatCannotBeUsedIsSaidAtTheStart) {
  const std::string toml =
      folder_.write("oncekey.toml", "[tls]\ncert = \"absent.pem\"\nkey = \"k\"\n");
  Process process({oncekey_binary(), "serve", "--config", toml, "--to", upstream_.url(), "--store",
                   "memory:", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"});
  EXPECT_TRUE(process.wait_for_line([](const std::string& line) {
    return line.find("tls.cert \"absent.pem\": No such file or directory") != std::string::npos;
  })) << process.output();
  EXPECT_EQ(process.wait(), 1);
}

// The upstream speaks TLS; the clients need not.
class TlsToTheUpstream : public GatewayFixture {
 protected:
  void serve_before(const Issued& certificate, const std::string& more = "",
                    const std::string& client_ca = "") {
    secure_ = std::make_unique<ScriptedUpstream>(tls_server(certificate, client_ca));
    const std::string ca = folder_.write("ca.pem", authority_.certificate());
    gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
        .upstream = secure_->url(), .toml = "[upstream_tls]\nca = \"" + ca + "\"\n" + more});
  }

  // Nothing was sent, so the key is free for a retry.
  void expect_refused(const std::string& reason) {
    EXPECT_EQ(post(key_a).status, 502);
    EXPECT_EQ(record(key_a, "/state"), "failed_retryable");
    EXPECT_TRUE(secure_->audit().all().empty());
    const std::string line = gateway_->log_line("/key", key_a);
    EXPECT_NE(line.find(reason), std::string::npos) << line;
  }

  void expect_unknown(const std::string& behaviour) {
    const std::string key = "unknown-" + behaviour + "-key";
    EXPECT_NE(post(key, behaviour).status / 100, 2) << behaviour;
    EXPECT_EQ(record(key, "/state"), "unknown") << behaviour;
    EXPECT_EQ(code(post(key)), "outcome_unknown") << behaviour;
    EXPECT_EQ(secure_->audit().of_key(key).size(), 1u) << behaviour;
  }

  Authority authority_;
  TemporaryFolder folder_;
  std::unique_ptr<ScriptedUpstream> secure_;
};

TEST_F(TlsToTheUpstream, RequestsShareOneConnection) {
  serve_before(authority_.issue(), "", "");
  for (int i = 0; i < 5; ++i) {
    const HttpResponse response = post("shared-connection-" + std::to_string(i));
    EXPECT_EQ(response.status, 201) << response.body;
    HttpRequest get{.method = "GET"};
    EXPECT_EQ(gateway_->send(get).status, 201);
  }
  // One for each I/O thread at most.
  EXPECT_LE(secure_->connections_accepted(), 4u);
}

TEST_F(TlsToTheUpstream, LargeBodiesPass) {
  serve_before(authority_.issue(), "[[route]]\nmatch = \"POST *\"\nbody_limit = \"8MiB\"\n");
  const std::string body = made_body(4'000'000, true, 3);
  const HttpResponse response = post(key_a, "size=900000 binary", body);
  EXPECT_EQ(response.body.size(), 900'000u);
  const HttpMessage got = secure_->audit().of_key(key_a).at(0).request;
  EXPECT_EQ(got.header("Content-Length"), std::to_string(body.size()));
  EXPECT_TRUE(body.starts_with(got.body));
}

TEST_F(TlsToTheUpstream, StrangerGetsNothing) {
  serve_before(Authority("stranger").issue());
  expect_refused("not trusted");
}

TEST_F(TlsToTheUpstream, ExpiredCertificateGetsNothing) {
  serve_before(authority_.issue({.expired = true}));
  expect_refused("certificate has expired");
}

TEST_F(TlsToTheUpstream, OtherNameGetsNothing) {
  serve_before(authority_.issue({.alternatives = {"DNS:other.example"}}));
  expect_refused("IP address mismatch");
}

TEST_F(TlsToTheUpstream, OtherNameCanBeExpected) {
  serve_before(authority_.issue({.alternatives = {"DNS:other.example"}}),
               "server_name = \"other.example\"\n");
  EXPECT_EQ(post(key_a).status, 201);
}

TEST_F(TlsToTheUpstream, OwnCertificateIsShown) {
  const Authority gateways("gateways");
  const Issued own = gateways.issue();
  serve_before(authority_.issue(),
               "cert = \"" + folder_.write("own.pem", own.certificate) + "\"\nkey = \"" +
                   folder_.write("own.key", own.key) + "\"\n",
               gateways.certificate());
  EXPECT_EQ(post(key_a).status, 201);
}

TEST_F(TlsToTheUpstream, SilenceAfterTheRequestIsUnknown) {
  serve_before(authority_.issue());
  expect_unknown("reset-unanswered");
  expect_unknown("reset-at-first-byte");
  expect_unknown("cut-body");
}

TEST_F(TlsToTheUpstream, AnswerThatEndsWithoutNoticeIsUnknown) {
  serve_before(authority_.issue());
  EXPECT_EQ(post(key_a, "to-end").status, 201);
  EXPECT_EQ(record(key_a, "/state"), "completed");
  secure_->end_without_notice();
  expect_unknown("to-end");
  EXPECT_EQ(post(key_b, "close").status, 201);
}

TEST_F(TlsToTheUpstream, ProbesAreAskedByTheSameRules) {
  serve_before(authority_.issue(),
               "[[route]]\nmatch = \"POST /orders\"\nprobe = { get = \"/orders?key={key}\", every "
               "= \"50ms\", executed = 201, absent_after = \"0s\" }\n");
  EXPECT_NE(post(key_a, "reset-unanswered").status, 201);
  EXPECT_TRUE(eventually([this] { return record(key_a, "/state") == "completed"; }));
}

}  // namespace
}  // namespace oncekey::test
