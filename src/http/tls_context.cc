#include "http/tls_context.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "http/certificate.h"
#include "oncekey/assert.h"

namespace oncekey::http {

namespace {

// Forward secrecy and authenticated encryption only. TLS 1.3 has no others.
constexpr const char* ciphers_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr unsigned char own_protocol[] = "\x08http/1.1";
constexpr unsigned int own_protocol_size = sizeof own_protocol - 1;
constexpr unsigned char session_id_context[] = "oncekey";

std::string last_error() {
  const unsigned long code = ERR_peek_last_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  std::string text = reason ? reason : "it cannot be read";
  ERR_clear_error();
  return text;
}

std::string wrong(const char* setting, const std::string& file) {
  const std::string place = std::string(setting) + " \"" + file + "\": ";
  const std::string reason = last_error();
  if (::access(file.c_str(), R_OK) != 0) return place + std::strerror(errno);
  return place + reason;
}

TlsContext new_context(const SSL_METHOD* method, TlsVersion min_version) {
  ERR_clear_error();
  TlsContext context(SSL_CTX_new(method), SSL_CTX_free);
  ONCEKEY_ASSERT(context);
  SSL_CTX_set_min_proto_version(context.get(),
                                min_version == TlsVersion::v1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  ONCEKEY_ASSERT(SSL_CTX_set_cipher_list(context.get(), ciphers_1_2) == 1);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  // An idle connection holds no buffers; a write that was blocked is repeated from where it is.
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                      SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_read_ahead(context.get(), 1);  // one recv() for a record, not two
  return context;
}

// A passphrase would be asked for on the terminal, and nobody sits there.
int no_passphrase(char*, int, int, void*) {
  return -1;
}

// "": both are there, and belong together.
std::string use_certificate(SSL_CTX& context, const std::string& cert, const std::string& key) {
  SSL_CTX_set_default_passwd_cb(&context, no_passphrase);
  if (SSL_CTX_use_certificate_chain_file(&context, cert.c_str()) != 1) return wrong("cert", cert);
  if (SSL_CTX_use_PrivateKey_file(&context, key.c_str(), SSL_FILETYPE_PEM) != 1) {
    return wrong("key", key);
  }
  if (SSL_CTX_check_private_key(&context) != 1) return wrong("key", key);
  return "";
}

int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* size,
                    const unsigned char* offered, unsigned int offered_size, void*) {
  unsigned char* found = nullptr;
  const int result =
      SSL_select_next_proto(&found, size, own_protocol, own_protocol_size, offered, offered_size);
  *chosen = found;
  return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

std::string ask_for_certificates(SSL_CTX& context, const ServerTlsOptions& options) {
  if (options.client_certificates == ClientCertificates::none) return "";
  const char* file = options.client_ca.c_str();
  if (SSL_CTX_load_verify_file(&context, file) != 1) return wrong("client_ca", options.client_ca);
  STACK_OF(X509_NAME)* names = SSL_load_client_CA_file(file);
  if (!names) return wrong("client_ca", options.client_ca);
  SSL_CTX_set_client_CA_list(&context, names);
  int mode = SSL_VERIFY_PEER;
  if (options.client_certificates == ClientCertificates::required) {
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  }
  SSL_CTX_set_verify(&context, mode, nullptr);
  return "";
}

std::string stamp_of(const std::string& file) {
  if (file.empty()) return "-";
  struct stat found {};
  if (::stat(file.c_str(), &found) != 0) return "?" + std::to_string(errno);
  return std::to_string(found.st_ino) + "." + std::to_string(found.st_size) + "." +
         std::to_string(found.st_mtim.tv_sec) + "." + std::to_string(found.st_mtim.tv_nsec);
}

std::string stamp_of(const ServerTlsOptions& options) {
  return stamp_of(options.cert) + " " + stamp_of(options.key) + " " + stamp_of(options.client_ca);
}

bool is_over(SSL_CTX& context) {
  return certificate_is_over(*SSL_CTX_get0_certificate(&context));
}

std::string description_of(SSL_CTX& context) {
  return describe_certificate(*SSL_CTX_get0_certificate(&context));
}

}  // namespace

Result<ServerTls::Loaded, std::string> ServerTls::load(const ServerTlsOptions& options) {
  Loaded loaded;
  loaded.stamp = stamp_of(options);  // before: a change while they are read is then seen
  loaded.context = new_context(TLS_server_method(), options.min_version);
  SSL_CTX& context = *loaded.context;
  std::string problem = use_certificate(context, options.cert, options.key);
  if (problem.empty()) problem = ask_for_certificates(context, options);
  if (!problem.empty()) return problem;
  SSL_CTX_set_options(&context, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
  SSL_CTX_set_alpn_select_cb(&context, choose_protocol, nullptr);
  // Sessions are resumed by tickets; nothing is kept here. The tickets' keys are this context's
  // own, so that a reload, with other authorities perhaps, begins anew.
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_session_id_context(&context, session_id_context, sizeof session_id_context - 1);
  return loaded;
}

ServerTls::ServerTls(ServerTlsOptions options, Loaded loaded)
    : options_(std::move(options)), loaded_(std::move(loaded)), seen_(loaded_.stamp) {}

Result<std::shared_ptr<ServerTls>, std::string> ServerTls::open(const ServerTlsOptions& options) {
  auto loaded = load(options);
  if (!loaded) return loaded.error();
  return std::shared_ptr<ServerTls>(new ServerTls(options, std::move(*loaded)));
}

std::string ServerTls::reload() {
  ServerTlsOptions options;
  {
    std::lock_guard lock(mutex_);
    options = options_;
  }
  return reload(options);
}

std::string ServerTls::reload(const ServerTlsOptions& options) {
  auto loaded = load(options);
  if (loaded.ok() && is_over(*loaded->context)) {
    loaded = "cert \"" + options.cert + "\": " + description_of(*loaded->context) + " is over";
  }
  std::lock_guard lock(mutex_);
  if (!loaded) {
    loaded_.stamp = seen_ = stamp_of(options_);  // not again before they change again
    return loaded.error();
  }
  options_ = options;
  loaded_ = std::move(*loaded);
  seen_ = loaded_.stamp;
  return "";
}

bool ServerTls::files_changed() {
  std::lock_guard lock(mutex_);
  std::string now = stamp_of(options_);
  const bool settled = now == seen_;
  seen_ = std::move(now);
  return settled && seen_ != loaded_.stamp;
}

TlsContext ServerTls::context() const {
  std::lock_guard lock(mutex_);
  return loaded_.context;
}

std::string ServerTls::describe() const {
  return description_of(*context());
}

bool ServerTls::expired() const {
  return is_over(*context());
}

std::unique_ptr<TlsSession> ServerTls::accept(SocketState& socket) const {
  const TlsContext context = this->context();
  std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context.get()));
  ONCEKEY_ASSERT(ssl);
  SSL_set_accept_state(ssl.get());
  return std::make_unique<TlsSession>(socket, std::move(ssl));
}

Result<std::shared_ptr<const ClientTls>, std::string> ClientTls::open(
    const ClientTlsOptions& options) {
  TlsContext context = new_context(TLS_client_method(), options.min_version);
  if (options.ca.empty()) {
    SSL_CTX_set_default_verify_paths(context.get());
  } else if (SSL_CTX_load_verify_file(context.get(), options.ca.c_str()) != 1) {
    return wrong("ca", options.ca);
  }
  if (!options.cert.empty()) {
    std::string problem = use_certificate(*context, options.cert, options.key);
    if (!problem.empty()) return problem;
  }
  SSL_CTX_set_verify(context.get(), options.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), own_protocol, own_protocol_size);
  TlsSession::keep_tickets(*context);
  return std::shared_ptr<const ClientTls>(new ClientTls(options, std::move(context)));
}

ClientTls::ClientTls(ClientTlsOptions options, TlsContext context)
    : options_(std::move(options)), context_(std::move(context)) {}

std::unique_ptr<TlsSession> ClientTls::connect(SocketState& socket, const std::string& host,
                                               SSL_SESSION* ticket) const {
  std::unique_ptr<SSL, FreeSsl> ssl(SSL_new(context_.get()));
  ONCEKEY_ASSERT(ssl);
  SSL_set_connect_state(ssl.get());
  const std::string& name = options_.server_name.empty() ? host : options_.server_name;
  ONCEKEY_ASSERT(!name.empty());  // which would match every certificate
  X509_VERIFY_PARAM* rules = SSL_get0_param(ssl.get());
  X509_VERIFY_PARAM_set_hostflags(rules, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // An address is compared as such, and is not sent as a name.
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, name.c_str()) != 1) {
    ONCEKEY_ASSERT(X509_VERIFY_PARAM_set1_host(rules, name.c_str(), name.size()) == 1);
    SSL_set_tlsext_host_name(ssl.get(), name.c_str());
  }
  ERR_clear_error();
  if (ticket) SSL_set_session(ssl.get(), ticket);
  return std::make_unique<TlsSession>(socket, std::move(ssl));
}

std::shared_ptr<const ClientTls> system_tls() {
  auto tls = ClientTls::open({});
  if (!tls) throw std::runtime_error(tls.error());
  return *tls;
}

std::string host_without_port(std::string_view host_port) {
  std::string_view host = host_port.substr(0, host_port.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return std::string(host);
}

}  // namespace oncekey::http
