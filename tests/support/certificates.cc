#include "support/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <stdexcept>

namespace oncekey::test {
namespace {

constexpr long hour_s = 3'600;

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string("making a certificate: ") + what);
}

std::shared_ptr<EVP_PKEY> new_key() {
  std::shared_ptr<EVP_PKEY> key(EVP_EC_gen("P-256"), EVP_PKEY_free);
  must(key != nullptr, "key");
  return key;
}

template <class Write>
std::string pem_of(Write write) {
  const std::unique_ptr<BIO, int (*)(BIO*)> bio(BIO_new(BIO_s_mem()), BIO_free);
  must(write(bio.get()) == 1, "PEM");
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string pem_of(X509* certificate) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string pem_of(EVP_PKEY* key) {
  return pem_of([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

void add_extension(X509* certificate, X509* issuer, int id, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, id, value.c_str());
  must(extension != nullptr, value.c_str());
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

std::shared_ptr<X509> new_certificate(const std::string& name, EVP_PKEY* key, bool expired) {
  std::shared_ptr<X509> certificate(X509_new(), X509_free);
  X509* raw = certificate.get();
  X509_set_version(raw, X509_VERSION_3);
  std::uint64_t serial = 0;
  must(RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) == 1, "serial");
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(raw), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(raw), -2 * hour_s);
  X509_gmtime_adj(X509_getm_notAfter(raw), expired ? -hour_s : hour_s);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "O", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>("oncekey tests"), -1, -1, 0);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(raw), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(raw, key);
  return certificate;
}

}  // namespace

Authority::Authority(const std::string& name) : key_(new_key()) {
  certificate_ = new_certificate(name, key_.get(), false);
  X509* raw = certificate_.get();
  X509_set_issuer_name(raw, X509_get_subject_name(raw));
  add_extension(raw, raw, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(raw, raw, NID_key_usage, "critical,keyCertSign");
  must(X509_sign(raw, key_.get(), EVP_sha256()) > 0, "signature");
  pem_ = pem_of(raw);
}

Issued Authority::issue(const CertificateRequest& request) const {
  const std::shared_ptr<EVP_PKEY> key = new_key();
  const std::shared_ptr<X509> made =
      new_certificate(request.common_name, key.get(), request.expired);
  X509_set_issuer_name(made.get(), X509_get_subject_name(certificate_.get()));
  std::string names;
  for (const std::string& name : request.alternatives) names += (names.empty() ? "" : ",") + name;
  if (!names.empty()) {
    add_extension(made.get(), certificate_.get(), NID_subject_alt_name, names);
  }
  must(X509_sign(made.get(), key_.get(), EVP_sha256()) > 0, "signature");
  return {pem_of(made.get()), pem_of(key.get())};
}

}  // namespace oncekey::test
