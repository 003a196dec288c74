#include "http/certificate.h"

#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include <memory>

namespace oncekey::http {

namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
  void operator()(unsigned char* text) const { OPENSSL_free(text); }
};
using MemoryBio = std::unique_ptr<BIO, Free>;

std::string text_of(const MemoryBio& bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

std::string text_of(const ASN1_STRING* text) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, text);
  if (size < 0) return "";
  const std::unique_ptr<unsigned char, Free> owner(utf8);
  return std::string(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(size));
}

std::string subject_of(const X509& certificate) {
  const MemoryBio bio(BIO_new(BIO_s_mem()));
  X509_NAME_print_ex(bio.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_RFC2253);
  return text_of(bio);
}

std::string common_name_of(const X509& certificate) {
  const X509_NAME* name = X509_get_subject_name(&certificate);
  int last = -1;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(name, NID_commonName, at)) >= 0;) last = at;
  if (last < 0) return "";
  return text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, last)));
}

std::string hex(const unsigned char* bytes, unsigned int size) {
  constexpr char digits[] = "0123456789abcdef";
  std::string text;
  for (unsigned int i = 0; i < size; ++i) {
    text += digits[bytes[i] >> 4];
    text += digits[bytes[i] & 15];
  }
  return text;
}

}  // namespace

PeerCertificate read_certificate(const X509& certificate) {
  PeerCertificate read;
  read.subject = subject_of(certificate);
  read.common_name = common_name_of(certificate);
  const std::unique_ptr<GENERAL_NAMES, Free> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) read.dns_names.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_URI) read.uris.push_back(text_of(name->d.uniformResourceIdentifier));
  }
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  if (X509_digest(&certificate, EVP_sha256(), digest, &size) == 1) read.sha256 = hex(digest, size);
  return read;
}

bool certificate_is_over(const X509& certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(&certificate)) < 0;
}

std::string describe_certificate(const X509& certificate) {
  const MemoryBio bio(BIO_new(BIO_s_mem()));
  ASN1_TIME_print(bio.get(), X509_get0_notAfter(&certificate));
  return subject_of(certificate) + ", valid until " + text_of(bio);
}

}  // namespace oncekey::http
