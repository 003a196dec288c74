// A server that speaks TLS, as clients with OpenSSL's own sockets see it.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <thread>

#include "http/server.h"
#include "http/tls_context.h"
#include "support/certificates.h"
#include "support/http_client.h"
#include "support/temporary_folder.h"
#include "support/tls.h"
#include "support/waiting.h"

namespace oncekey::http {
namespace {

using test::Authority;
using test::HttpConnection;
using test::HttpRequest;
using test::HttpResponse;
using test::Issued;
using test::Socket;
using test::TlsClientOptions;

constexpr std::size_t body_limit = 32 << 20;

// Answers with the body it got, and says who the client is.
class Echo final : public Handler {
 public:
  Task<void> handle(Exchange& exchange) override {
    ResponseStart start;
    start.add("X-Secure", exchange.secure() ? "yes" : "no");
    if (const PeerCertificate* peer = exchange.peer_certificate()) {
      start.add("X-Subject", peer->subject);
      start.add("X-Common-Name", peer->common_name);
      start.add("X-Sha256", peer->sha256);
      for (const std::string& name : peer->dns_names) start.add("X-Dns", name);
      for (const std::string& uri : peer->uris) start.add("X-Uri", uri);
    }
    std::string body;
    co_await exchange.read_body(body_limit, body);
    co_await exchange.respond(start, body);
  }
  Task<void> refuse(Exchange& exchange, const Refusal& refusal) override {
    ResponseStart start;
    start.status = refusal.status;
    co_await exchange.respond(start, refusal.reason);
  }
};

class TlsServer : public testing::Test {
 protected:
  ~TlsServer() override {
    if (!thread_.joinable()) return;
    loop_.post([this] {
      listener_->close();
      connections_.abort();
    });
    EXPECT_TRUE(test::eventually([this] { return stats_.connections_open == 0; }));
    loop_.stop();
    thread_.join();
  }

  void write(const Issued& issued) {
    folder_.write("cert.pem", issued.certificate);
    folder_.write("key.pem", issued.key);
  }

  void serve(ClientCertificates wanted = ClientCertificates::none,
             TlsVersion version = TlsVersion::v1_2) {
    write(authority_.issue());
    folder_.write("clients.pem", clients_.certificate());
    tls_options_ = {folder_.path() / "cert.pem", folder_.path() / "key.pem",
                    folder_.path() / "clients.pem", wanted, version};
    auto opened = ServerTls::open(tls_options_);
    ASSERT_TRUE(opened) << opened.error();
    options_.tls = *opened;
    listener_ =
        std::make_unique<Listener>(loop_, resolve("127.0.0.1:0")->front(), stats_, options_);
    std::string address = listener_->address();
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    listener_->serve({&connections_}, {&loop_});
    thread_ = std::thread([this] { loop_.run(); });
  }

  Socket connect(TlsClientOptions options = {}, std::string* why = nullptr) {
    options.ca = authority_.certificate();
    return test::connect_tls(port_, test::tls_client(options), why);
  }

  static HttpResponse post(HttpConnection& connection, const std::string& body = "hello") {
    return connection.exchange({.body = body});
  }

  Authority authority_, clients_{"clients"};
  test::TemporaryFolder folder_;
  ServerTlsOptions tls_options_;
  Loop loop_;
  Echo handler_;
  ServerOptions options_;
  ServerStats stats_;
  ConnectionSet connections_{loop_, handler_, options_, stats_};
  std::unique_ptr<Listener> listener_;
  std::thread thread_;
  std::uint16_t port_ = 0;
};

TEST_F(TlsServer, AnswersInBothVersions) {
  serve();
  for (const auto& [limit, name] : {std::pair(TLS1_2_VERSION, "TLSv1.2"), {0, "TLSv1.3"}}) {
    HttpConnection connection(connect({.version_max = limit}));
    EXPECT_EQ(test::tls_version(connection.socket()), name);
    for (int i = 0; i < 3; ++i) {
      const HttpResponse response = post(connection);
      EXPECT_EQ(response.status, 200) << response.failure;
      EXPECT_EQ(response.body, "hello");
      EXPECT_EQ(response.header("X-Secure"), "yes");
    }
  }
}

TEST_F(TlsServer, VersionBelowTheLeastIsRefused) {
  serve(ClientCertificates::none, TlsVersion::v1_3);
  EXPECT_FALSE(connect({.version_max = TLS1_2_VERSION}));
  EXPECT_TRUE(connect());
}

TEST_F(TlsServer, OnlyHttp11IsAgreedOn) {
  serve();
  Socket both = connect({.protocols = "\x02h2\x08http/1.1"});
  const unsigned char* chosen = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(both.tls(), &chosen, &size);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(chosen), size), "http/1.1");
  std::string why;
  EXPECT_FALSE(connect({.protocols = "\x02h2"}, &why));
  EXPECT_NE(why.find("no application protocol"), std::string::npos) << why;
}

TEST_F(TlsServer, SessionIsResumed) {
  serve();
  for (const int limit : {TLS1_2_VERSION, 0}) {
    const auto settings = test::tls_client({.ca = authority_.certificate(), .version_max = limit});
    HttpConnection first(test::connect_tls(port_, settings));
    EXPECT_EQ(post(first).status, 200);  // the ticket of TLS 1.3 has come by now
    const auto session = test::session_of(first.socket());
    first.socket().close();
    HttpConnection second(test::connect_tls(port_, settings, nullptr, session.get()));
    ASSERT_TRUE(second.socket());
    EXPECT_TRUE(test::was_resumed(second.socket())) << limit;
    EXPECT_EQ(post(second).status, 200);
  }
}

TEST_F(TlsServer, LargeBodiesGoBothWays) {
  serve();
  HttpConnection connection(connect());
  std::string body(9'000'001, 'x');
  for (std::size_t i = 0; i < body.size(); i += 7) body[i] = static_cast<char>(i);
  ASSERT_TRUE(connection.send(HttpRequest{.body = body}.bytes()));  // read whole before the answer
  const HttpResponse response = connection.receive();
  EXPECT_EQ(response.status, 200) << response.failure;
  EXPECT_TRUE(response.body == body);
  EXPECT_EQ(post(connection).body, "hello");
}

TEST_F(TlsServer, PipelinedRequestsAreAnsweredInOrder) {
  serve();
  HttpConnection connection(connect());
  std::string bytes;
  for (int i = 0; i < 50; ++i) bytes += HttpRequest{.body = "body " + std::to_string(i)}.bytes();
  ASSERT_TRUE(connection.send(bytes));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(connection.receive().body, "body " + std::to_string(i));
}

TEST_F(TlsServer, HeadInManyRecordsIsOneRequest) {
  serve();
  HttpConnection connection(connect());
  for (const char c : HttpRequest{.body = "slow"}.bytes()) {
    ASSERT_TRUE(connection.send(std::string_view(&c, 1)));
  }
  EXPECT_EQ(connection.receive().body, "slow");
}

TEST_F(TlsServer, EndIsSaidByCloseNotify) {
  serve();
  HttpConnection connection(connect());
  HttpRequest request{.body = "last"};
  request.with("Connection", "close");
  EXPECT_EQ(connection.exchange(request).body, "last");
  EXPECT_TRUE(connection.ends());
}

TEST_F(TlsServer, PlainRequestGetsAnAnswerThatSaysSo) {
  serve();
  HttpConnection connection(port_);
  const HttpResponse response = connection.exchange({.method = "GET", .target = "/"});
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("HTTPS"), std::string::npos) << response.body;
  EXPECT_TRUE(connection.ends());
  EXPECT_EQ(stats_.handshakes_failed, 1u);
}

TEST_F(TlsServer, NoiseEndsTheConnection) {
  serve();
  Socket socket = test::connect_loopback(port_);
  socket.send(std::string(100, '\xee'));
  std::string answer;
  while (socket.receive(answer, test::deadline_in(test::patience)) == Socket::Received::data) {
  }
  EXPECT_EQ(answer.find("HTTP/"), std::string::npos);
  EXPECT_TRUE(test::eventually([this] { return stats_.connections_open == 0; }));
}

TEST_F(TlsServer, SlowHandshakeEndsAtTheHeadersDeadlineAndHoldsUpNobody) {
  options_.timeouts.header_ms = 3'000;
  serve();
  Socket silent = test::connect_loopback(port_);
  Socket half = test::connect_loopback(port_);
  half.send(std::string_view("\x16\x03\x01\x02\x00\x01\x00\x01\xfc", 9));  // half a hello
  HttpConnection good(connect());
  EXPECT_EQ(post(good).status, 200);
  EXPECT_EQ(stats_.handshakes_failed, 0u);
  std::string nothing;
  EXPECT_EQ(silent.receive(nothing, test::deadline_in(test::patience)), Socket::Received::end);
  EXPECT_EQ(half.receive(nothing, test::deadline_in(test::patience)), Socket::Received::end);
  EXPECT_EQ(stats_.handshakes_failed, 2u);
  EXPECT_EQ(post(good).status, 200);
}

TEST_F(TlsServer, CertificateIsNotAskedForByDefault) {
  serve();
  HttpConnection connection(connect({.own = clients_.issue({.common_name = "shop"})}));
  const HttpResponse response = post(connection);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.find("X-Subject"), std::nullopt);
}

TEST_F(TlsServer, OptionalCertificateIsReadWhenThereIsOne) {
  serve(ClientCertificates::optional);
  HttpConnection nobody(connect());
  EXPECT_EQ(post(nobody).find("X-Subject"), std::nullopt);
  const Issued shop = clients_.issue(
      {.common_name = "shop",
       .alternatives = {"DNS:shop.example", "DNS:b.example", "URI:spiffe://a/shop"}});
  HttpConnection known(connect({.own = shop}));
  for (int i = 0; i < 2; ++i) {
    const HttpResponse response = post(known);
    EXPECT_EQ(response.header("X-Subject"), "CN=shop,O=oncekey tests");
    EXPECT_EQ(response.header("X-Common-Name"), "shop");
    EXPECT_EQ(response.header("X-Dns"), "shop.example");
    EXPECT_EQ(response.header("X-Uri"), "spiffe://a/shop");
    EXPECT_EQ(response.header("X-Sha256").size(), 64u);
  }
}

// In TLS 1.3 the client learns of it only after its own handshake, with the first thing it reads.
bool gets_nothing(Socket socket) {
  if (!socket) return true;
  HttpConnection connection(std::move(socket));
  return connection.exchange({.body = "x"}).status == 0;
}

TEST_F(TlsServer, RequiredCertificateMustBeThereAndGood) {
  serve(ClientCertificates::required);
  const Authority strangers("strangers");
  for (const int limit : {TLS1_2_VERSION, 0}) {
    EXPECT_TRUE(gets_nothing(connect({.version_max = limit})));
    EXPECT_TRUE(gets_nothing(connect({.own = strangers.issue(), .version_max = limit})));
    EXPECT_TRUE(
        gets_nothing(connect({.own = clients_.issue({.expired = true}), .version_max = limit})));
    HttpConnection known(connect({.own = clients_.issue(), .version_max = limit}));
    EXPECT_EQ(post(known).header("X-Common-Name"), "localhost");
  }
  EXPECT_EQ(stats_.handshakes_failed, 6u);
}

TEST_F(TlsServer, OptionalCertificateThatIsBadIsRefused) {
  serve(ClientCertificates::optional);
  const Authority strangers("strangers");
  EXPECT_TRUE(gets_nothing(connect({.own = strangers.issue()})));
}

TEST_F(TlsServer, ResumedSessionBringsItsCertificateAlong) {
  serve(ClientCertificates::required);
  const auto settings = test::tls_client(
      {.ca = authority_.certificate(), .own = clients_.issue({.common_name = "shop"})});
  HttpConnection first(test::connect_tls(port_, settings));
  EXPECT_EQ(post(first).header("X-Common-Name"), "shop");
  const auto session = test::session_of(first.socket());
  HttpConnection second(test::connect_tls(port_, settings, nullptr, session.get()));
  ASSERT_TRUE(second.socket());
  EXPECT_TRUE(test::was_resumed(second.socket()));
  EXPECT_EQ(post(second).header("X-Common-Name"), "shop");
}

TEST_F(TlsServer, NewCertificateIsForNewConnectionsOnly) {
  serve();
  HttpConnection old(connect());
  EXPECT_EQ(post(old).status, 200);
  write(authority_.issue({.common_name = "renewed"}));
  EXPECT_EQ(options_.tls->reload(), "");
  EXPECT_EQ(post(old).status, 200);
  EXPECT_EQ(test::peer_common_name(old.socket()), "localhost");
  HttpConnection fresh(connect());
  EXPECT_EQ(test::peer_common_name(fresh.socket()), "renewed");
  EXPECT_EQ(post(fresh).status, 200);
}

TEST_F(TlsServer, BadNewCertificateIsRefusedAndTheOldOneStays) {
  serve();
  const auto refused = [&](const std::string& reason) {
    const std::string problem = options_.tls->reload();
    EXPECT_NE(problem.find(reason), std::string::npos) << problem;
    EXPECT_EQ(test::peer_common_name(connect()), "localhost");
    EXPECT_FALSE(options_.tls->files_changed());  // not tried again before they change again
  };
  folder_.write("key.pem", authority_.issue().key);
  refused("key \"" + tls_options_.key + "\": key values mismatch");
  folder_.write("cert.pem", "nonsense");
  refused("cert \"" + tls_options_.cert + "\"");
  write(authority_.issue({.common_name = "late", .expired = true}));
  refused("is over");
  ServerTlsOptions elsewhere = tls_options_;
  elsewhere.cert = folder_.path() / "absent.pem";
  EXPECT_NE(options_.tls->reload(elsewhere).find("No such file"), std::string::npos);
}

TEST_F(TlsServer, ChangedFilesAreSeenOnceTheyHaveSettled) {
  serve();
  EXPECT_FALSE(options_.tls->files_changed());
  write(authority_.issue({.common_name = "renewed"}));
  EXPECT_FALSE(options_.tls->files_changed());  // perhaps the key is still to come
  EXPECT_TRUE(options_.tls->files_changed());
  EXPECT_EQ(options_.tls->reload(), "");
  EXPECT_FALSE(options_.tls->files_changed());
}

TEST(TlsFiles, WhatCannotBeUsedIsNamed) {
  const test::TemporaryFolder folder;
  const Issued issued = Authority().issue();
  ServerTlsOptions options{folder.path() / "cert.pem", folder.path() / "key.pem", "", {}, {}};
  const auto problem = [&] {
    const auto opened = ServerTls::open(options);
    return opened ? std::string() : opened.error();
  };
  EXPECT_EQ(problem(), "cert \"" + options.cert + "\": No such file or directory");
  folder.write("cert.pem", issued.certificate);
  EXPECT_EQ(problem(), "key \"" + options.key + "\": No such file or directory");
  folder.write("key.pem", issued.key);
  EXPECT_EQ(problem(), "");
  options.client_certificates = ClientCertificates::required;
  options.client_ca = folder.path() / "absent.pem";
  EXPECT_EQ(problem(), "client_ca \"" + options.client_ca + "\": No such file or directory");
}

}  // namespace
}  // namespace oncekey::http
