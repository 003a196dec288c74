// Tenants that client certificates name (SPEC T2).
#include "e2e/gateway_fixture.h"
#include "support/certificates.h"
#include "support/tls.h"

namespace oncekey::test {
namespace {

class CertificateTenants : public GatewayFixture {
 protected:
  void serve_certificates(const std::string& part, const std::string& asked = "required") {
    const Issued own = authority_.issue();
    serve("[tls]\ncert = \"" + folder_.write("cert.pem", own.certificate) + "\"\nkey = \"" +
          folder_.write("key.pem", own.key) + "\"\nclient_certificates = \"" + asked +
          "\"\nclient_ca = \"" + folder_.write("clients.pem", clients_.certificate()) +
          "\"\n[tenant]\nfrom = \"mtls\"\ncertificate = \"" + part + "\"\n");
  }
  Issued client(const std::string& name, std::vector<std::string> alternatives = {}) const {
    return clients_.issue({.common_name = name, .alternatives = std::move(alternatives)});
  }
  HttpResponse send_as(std::optional<Issued> own, const std::string& key = key_a) {
    HttpConnection connection(connect_tls(
        gateway_->port(), tls_client({.ca = authority_.certificate(), .own = std::move(own)})));
    return connection.exchange(order(key));
  }

  const Authority authority_, clients_{"clients"};
  const TemporaryFolder folder_;
};

TEST_F(CertificateTenants, CommonNameSeparatesAndARenewedCertificateDoesNot) {
  serve_certificates("common_name");
  const HttpResponse acme = send_as(client("acme"));
  const HttpResponse bolt = send_as(client("bolt"));
  EXPECT_EQ(acme.status, 201);
  EXPECT_EQ(bolt.status, 201);
  EXPECT_NE(acme.body, bolt.body);
  EXPECT_EQ(send_as(client("acme")).body, acme.body);
  EXPECT_NE(send_as(client("Acme")).body, acme.body);
  EXPECT_EQ(arrivals(key_a), 3u);
  EXPECT_NE(gateway_->log_line("/tenant", "mtls common_name=acme"), "");
}

TEST_F(CertificateTenants, UriNamesOneTenantOrNone) {
  serve_certificates("uri");
  const HttpResponse acme = send_as(client("x", {"URI:spiffe://acme/api"}));
  EXPECT_EQ(acme.status, 201);
  EXPECT_EQ(send_as(client("y", {"URI:spiffe://acme/api"})).body, acme.body);
  EXPECT_EQ(code(send_as(client("acme", {"DNS:acme.example"}), key_b)), "credentials_refused");
  EXPECT_EQ(code(send_as(client("x", {"URI:spiffe://acme/api", "URI:spiffe://bolt/api"}), key_b)),
            "credentials_refused");
  EXPECT_EQ(arrivals(key_b), 0u);
}

TEST_F(CertificateTenants, ConnectionWithoutCertificateHasNoTenant) {
  serve_certificates("sha256", "optional");
  const Issued acme = client("acme");
  const HttpResponse first = send_as(acme);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(send_as(acme).body, first.body);
  EXPECT_NE(send_as(client("acme")).body, first.body);
  EXPECT_EQ(code(send_as(std::nullopt, key_b)), "credentials_missing");
  EXPECT_EQ(arrivals(key_b), 0u);
}

}  // namespace
}  // namespace oncekey::test
