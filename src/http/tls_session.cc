#include "http/tls_session.h"

#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "oncekey/assert.h"

namespace oncekey::http {

namespace {

int size_of(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, std::numeric_limits<int>::max()));
}

}  // namespace

TlsSession::TlsSession(SocketState& socket, std::unique_ptr<SSL, FreeSsl> ssl)
    : socket_(socket), ssl_(std::move(ssl)) {
  BIO* bio = make_tls_socket_bio(socket_);
  SSL_set_bio(ssl_.get(), bio, bio);
  SSL_set_app_data(ssl_.get(), this);
}

TlsSession::~TlsSession() {
  // Otherwise its tickets would be taken for those of a connection that was attacked.
  SSL_set_shutdown(ssl_.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

void TlsSession::keep_tickets(SSL_CTX& context) {
  SSL_CTX_set_session_cache_mode(&context, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
  SSL_CTX_sess_set_new_cb(&context, &TlsSession::on_ticket);
}

int TlsSession::on_ticket(SSL* ssl, SSL_SESSION* ticket) {
  auto* session = static_cast<TlsSession*>(SSL_get_app_data(ssl));
  session->ticket_.reset(ticket);
  return 1;  // it is ours now
}

std::string TlsSession::failure(int code) const {
  const long verdict = SSL_get_verify_result(ssl_.get());
  if (verdict != X509_V_OK) {
    return std::string("the peer's certificate is not trusted: ") +
           X509_verify_cert_error_string(verdict);
  }
  const unsigned long top = ERR_peek_last_error();
  if (code == SSL_ERROR_SSL && top != 0) {
    const char* reason = ERR_reason_error_string(top);
    return reason ? reason : "error " + std::to_string(top);
  }
  if (socket_.error != 0) return std::strerror(socket_.error);
  return "the connection was closed";
}

TlsSession::Progress TlsSession::judge(int result) {
  const int code = SSL_get_error(ssl_.get(), result);
  switch (code) {
    case SSL_ERROR_NONE:
      return Progress::done;
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return Progress::blocked;
    case SSL_ERROR_ZERO_RETURN:
      return Progress::closed;
    default:
      break;
  }
  failed_ = true;
  error_ = failure(code);
  const unsigned long top = ERR_peek_last_error();
  plain_http_ =
      ERR_GET_LIB(top) == ERR_LIB_SSL && (ERR_GET_REASON(top) == SSL_R_HTTP_REQUEST ||
                                          ERR_GET_REASON(top) == SSL_R_HTTPS_PROXY_REQUEST);
  ERR_clear_error();
  return Progress::failed;
}

TlsSession::Progress TlsSession::handshake() {
  if (failed_) return Progress::failed;
  ERR_clear_error();
  const Progress progress = judge(SSL_do_handshake(ssl_.get()));
  if (progress != Progress::closed) return progress;
  failed_ = true;
  error_ = "the peer closed the connection";
  return Progress::failed;
}

TlsSession::Step TlsSession::read(std::span<char> into) {
  if (failed_) return {Progress::failed};
  std::size_t total = 0;
  while (total < into.size()) {
    ERR_clear_error();
    const int got = SSL_read(ssl_.get(), into.data() + total, size_of(into.size() - total));
    if (got > 0) {
      total += static_cast<std::size_t>(got);
      continue;
    }
    const Progress progress = judge(got);
    // What came before the end is given first; the end is found again by the next call.
    return total > 0 ? Step{Progress::done, total} : Step{progress};
  }
  return {Progress::done, total};
}

TlsSession::Step TlsSession::write(std::span<const char> from) {
  if (failed_) return {Progress::failed};
  ERR_clear_error();
  const int sent = SSL_write(ssl_.get(), from.data(), size_of(from.size()));
  if (sent > 0) return {Progress::done, static_cast<std::size_t>(sent)};
  const Progress progress = judge(sent);
  // A peer that reads no more cannot be written to.
  return {progress == Progress::closed ? Progress::failed : progress};
}

bool TlsSession::close() {
  if (failed_ || !SSL_is_init_finished(ssl_.get())) return true;
  ERR_clear_error();
  const int result = SSL_shutdown(ssl_.get());
  if (result >= 0) return true;
  return judge(result) != Progress::blocked || socket_.state.writable;
}

bool TlsSession::idle() {
  if (failed_) return false;
  ERR_clear_error();
  char byte;
  return judge(SSL_peek(ssl_.get(), &byte, 1)) == Progress::blocked;
}

}  // namespace oncekey::http
