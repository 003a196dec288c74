#include "oncekey/fingerprint.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include <atomic>
#include <stdexcept>

#include "boundary/canonical_json.h"
#include "boundary/form.h"
#include "boundary/length_prefix.h"
#include "boundary/media_type.h"
#include "boundary/reused_buffer.h"
#include "oncekey/assert.h"

namespace oncekey {
namespace {

constexpr std::string_view version_tag = "oncekey fingerprint 1";

struct FreeMac {
  void operator()(EVP_MAC* mac) const { EVP_MAC_free(mac); }
  void operator()(EVP_MAC_CTX* context) const { EVP_MAC_CTX_free(context); }
};
using Mac = std::unique_ptr<EVP_MAC, FreeMac>;
using MacContext = std::unique_ptr<EVP_MAC_CTX, FreeMac>;

MacContext keyed_context(std::string_view secret) {
  const Mac mac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  ONCEKEY_ASSERT(mac != nullptr);
  MacContext context(EVP_MAC_CTX_new(mac.get()));
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  const auto* bytes = reinterpret_cast<const unsigned char*>(secret.data());
  ONCEKEY_ASSERT(context != nullptr &&
                 EVP_MAC_init(context.get(), bytes, secret.size(), parameters) == 1);
  return context;
}

// Replaces `canonical` by what of the body counts, and says in which form. The tags keep a body
// that was canonicalised from ever equalling one that was not.
std::string_view canonical_body(const FingerprintInput& input, const FingerprintRules& rules,
                                std::string& canonical) {
  if (!input.body.empty()) {
    switch (body_kind(input.content_type)) {
      case BodyKind::json:
        if (canonicalize_json(input.body, rules, canonical)) return "json";
        break;
      case BodyKind::form:
        if (canonicalize_form(input.body, canonical)) return "form";
        break;
      case BodyKind::other:
        break;
    }
  }
  canonical.assign(input.body);
  return input.body.empty() ? "empty" : "raw";
}

}  // namespace

struct Fingerprinter::State {
  MacContext keyed;  // never used for a digest itself, only copied
  std::uint64_t id;  // tells this secret's contexts from those of any other, also a freed one's
};

namespace {

// Fetching and keying HMAC costs more than the digest, so each thread keeps its last context.
EVP_MAC_CTX* thread_context(EVP_MAC_CTX* keyed, std::uint64_t id) {
  thread_local MacContext context;
  thread_local std::uint64_t owner = 0;
  if (owner != id) {
    context.reset(EVP_MAC_CTX_dup(keyed));
    owner = id;
  }
  ONCEKEY_ASSERT(context != nullptr && EVP_MAC_init(context.get(), nullptr, 0, nullptr) == 1);
  return context.get();
}

}  // namespace

Fingerprinter::Fingerprinter(std::string_view secret) {
  if (secret.size() < secret_size_min) {
    throw std::invalid_argument("the fingerprint secret is shorter than 16 bytes");
  }
  static std::atomic<std::uint64_t> last_id = 0;
  state_ = std::make_unique<State>(State{keyed_context(secret), ++last_id});
}

Fingerprinter::~Fingerprinter() = default;
Fingerprinter::Fingerprinter(Fingerprinter&&) noexcept = default;
Fingerprinter& Fingerprinter::operator=(Fingerprinter&&) noexcept = default;

Fingerprint Fingerprinter::compute(const FingerprintInput& input,
                                   const FingerprintRules& rules) const {
  thread_local std::string body;
  thread_local std::string media_type;
  thread_local std::string message;
  const auto kind = canonical_body(input, rules, body);
  media_type.clear();
  append_media_type(media_type, input.content_type);
  message.clear();
  for (const std::string_view part :
       {version_tag, input.tenant, input.method, input.target, std::string_view(media_type),
        input.content_encoding, kind, std::string_view(body)}) {
    append_length_prefixed(message, part);
  }
  if (!input.first_sent.empty()) append_length_prefixed(message, input.first_sent);
  Fingerprint fingerprint{current_version, {}};
  std::size_t size = 0;
  EVP_MAC_CTX* context = thread_context(state_->keyed.get(), state_->id);
  const auto* bytes = reinterpret_cast<const unsigned char*>(message.data());
  ONCEKEY_ASSERT(EVP_MAC_update(context, bytes, message.size()) == 1);
  ONCEKEY_ASSERT(
      EVP_MAC_final(context, fingerprint.digest.data(), &size, fingerprint.digest.size()) == 1);
  ONCEKEY_ASSERT(size == fingerprint.digest.size());
  release_if_large(body);
  release_if_large(message);
  return fingerprint;
}

}  // namespace oncekey
