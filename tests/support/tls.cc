#include "support/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <signal.h>

#include <stdexcept>

namespace oncekey::test {
namespace {

template <class Read>
auto read_pem(const std::string& pem, Read read) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), BIO_free);
  auto* made = read(bio.get(), nullptr, nullptr, nullptr);
  if (!made) throw std::runtime_error("not PEM: " + pem.substr(0, 40));
  return made;
}

void use(SSL_CTX* context, const Issued& own) {
  X509* certificate = read_pem(own.certificate, PEM_read_bio_X509);
  EVP_PKEY* key = read_pem(own.key, PEM_read_bio_PrivateKey);
  SSL_CTX_use_certificate(context, certificate);
  SSL_CTX_use_PrivateKey(context, key);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

void trust(SSL_CTX* context, const std::string& ca, int mode) {
  X509* authority = read_pem(ca, PEM_read_bio_X509);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority);
  X509_free(authority);
  SSL_CTX_set_verify(context, mode, nullptr);
}

TlsSettings new_settings(const SSL_METHOD* method) {
  ::signal(SIGPIPE, SIG_IGN);  // OpenSSL's own sockets raise it
  TlsSettings settings(SSL_CTX_new(method), SSL_CTX_free);
  SSL_CTX_clear_mode(settings.get(), SSL_MODE_AUTO_RETRY);  // or a ticket would be waited behind
  return settings;
}

std::shared_ptr<SSL> new_ssl(const TlsSettings& settings, const Socket& socket) {
  std::shared_ptr<SSL> ssl(SSL_new(settings.get()), SSL_free);
  SSL_set_fd(ssl.get(), socket.descriptor());
  return ssl;
}

}  // namespace

TlsSettings tls_server(const Issued& own, const std::string& client_ca) {
  TlsSettings settings = new_settings(TLS_server_method());
  use(settings.get(), own);
  if (!client_ca.empty()) {
    trust(settings.get(), client_ca, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT);
  }
  return settings;
}

TlsSettings tls_client(const TlsClientOptions& options) {
  TlsSettings settings = new_settings(TLS_client_method());
  trust(settings.get(), options.ca, SSL_VERIFY_PEER);
  if (options.own) use(settings.get(), *options.own);
  if (options.version_max != 0) {
    SSL_CTX_set_max_proto_version(settings.get(), options.version_max);
  }
  if (!options.protocols.empty()) {
    SSL_CTX_set_alpn_protos(settings.get(),
                            reinterpret_cast<const unsigned char*>(options.protocols.data()),
                            static_cast<unsigned int>(options.protocols.size()));
  }
  return settings;
}

Socket connect_tls(std::uint16_t port, const TlsSettings& settings, std::string* why,
                   ssl_session_st* resumed) {
  Socket socket = connect_loopback(port);
  if (!socket) return socket;
  std::shared_ptr<SSL> ssl = new_ssl(settings, socket);
  SSL_set_tlsext_host_name(ssl.get(), "localhost");
  SSL_set1_host(ssl.get(), "localhost");
  if (resumed) SSL_set_session(ssl.get(), resumed);
  ERR_clear_error();
  if (SSL_connect(ssl.get()) != 1) {
    const char* reason = ERR_reason_error_string(ERR_peek_last_error());
    if (why) *why = reason ? reason : "the connection ended";
    return Socket();
  }
  socket.speak_tls(std::move(ssl));
  return socket;
}

bool accept_tls(Socket& socket, const TlsSettings& settings) {
  std::shared_ptr<SSL> ssl = new_ssl(settings, socket);
  ERR_clear_error();
  if (SSL_accept(ssl.get()) != 1) return false;
  socket.speak_tls(std::move(ssl));
  return true;
}

std::string peer_common_name(const Socket& socket) {
  const X509* certificate = SSL_get0_peer_certificate(socket.tls());
  if (!certificate) return "";
  char name[256] = "";
  X509_NAME_get_text_by_NID(X509_get_subject_name(certificate), NID_commonName, name, sizeof name);
  return name;
}

bool was_resumed(const Socket& socket) {
  return SSL_session_reused(socket.tls()) == 1;
}

std::string tls_version(const Socket& socket) {
  return SSL_get_version(socket.tls());
}

std::shared_ptr<ssl_session_st> session_of(const Socket& socket) {
  return {SSL_get1_session(socket.tls()), SSL_SESSION_free};
}

}  // namespace oncekey::test
