#include "identity/pem_keys.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <memory>

#include "oncekey/assert.h"

namespace oncekey::identity {
namespace {

// One block of a PEM file, freed with it.
struct Block {
  char* name = nullptr;
  char* header = nullptr;
  unsigned char* data = nullptr;
  long size = 0;

  Block() = default;
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() {
    OPENSSL_free(name);
    OPENSSL_free(header);
    OPENSSL_free(data);
  }
};

VerificationKey::PublicKey public_key_of(const Block& block) {
  const unsigned char* at = block.data;
  const std::string_view name = block.name;
  if (name == PEM_STRING_PUBLIC) {
    return {d2i_PUBKEY(nullptr, &at, block.size), EVP_PKEY_free};
  }
  if (name == PEM_STRING_X509) {
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        d2i_X509(nullptr, &at, block.size), X509_free);
    return {certificate ? X509_get_pubkey(certificate.get()) : nullptr, EVP_PKEY_free};
  }
  if (name == PEM_STRING_RSA_PUBLIC) {
    return {d2i_PublicKey(EVP_PKEY_RSA, nullptr, &at, block.size), EVP_PKEY_free};
  }
  return nullptr;
}

}  // namespace

Result<std::vector<VerificationKey>, std::string> read_pem_keys(std::string_view text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> source(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free);
  ONCEKEY_ASSERT(source);
  std::vector<VerificationKey> keys;
  for (;;) {
    Block block;
    if (PEM_read_bio(source.get(), &block.name, &block.header, &block.data, &block.size) != 1) {
      break;
    }
    const std::string name = block.name;
    if (name.find("PRIVATE KEY") != name.npos) {
      return std::string(
          "holds a private key; the gateway needs the public one (openssl pkey -pubout)");
    }
    const VerificationKey::PublicKey key = public_key_of(block);
    if (!key) return "cannot read the PEM block " + name;
    auto verification_key = VerificationKey::of_public_key(key);
    if (!verification_key) return verification_key.error();
    keys.push_back(std::move(*verification_key));
  }
  if (keys.empty()) return std::string("has no PEM block that can be read");
  return keys;
}

}  // namespace oncekey::identity
