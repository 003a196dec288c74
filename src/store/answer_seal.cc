#include "store/answer_seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include "oncekey/assert.h"
#include "store/bytes.h"
#include "store/record_codec.h"

// A sealed body: version, key's id, salt, nonce, ciphertext, tag. Each answer has a key of its own,
// derived from the salt: random nonces of 96 bits under one key would be used up within days.
namespace oncekey::store {
namespace {

constexpr std::uint8_t layout = 1;
constexpr std::size_t salt_size = 16;
constexpr std::size_t nonce_size = 12;
constexpr std::size_t tag_size = 16;
constexpr std::string_view derivation_label = "oncekey answer key 1";
constexpr std::string_view binding_label = "oncekey answer 1";

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}
unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

// What the tag vouches for beside the ciphertext: the record, and what of the answer is in clear.
std::string binding(const RecordId& id, const StoredResponse& response) {
  std::string out;
  ByteWriter writer(out);
  writer.text(binding_label);
  writer.text(id.scope);
  writer.text(id.key);
  writer.byte(response.schema_version);
  writer.number(static_cast<std::uint64_t>(response.status));
  return out;
}

}  // namespace

void AnswerSeal::Free::operator()(evp_cipher_ctx_st* context) const {
  EVP_CIPHER_CTX_free(context);
}
void AnswerSeal::Free::operator()(evp_cipher_st* cipher) const {
  EVP_CIPHER_free(cipher);
}
void AnswerSeal::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

// Fetched once: a fetch for each answer costs more than encrypting it.
AnswerSeal::AnswerSeal()
    : cipher_(EVP_CIPHER_fetch(nullptr, "AES-256-GCM", nullptr)), context_(EVP_CIPHER_CTX_new()) {
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  ONCEKEY_ASSERT(cipher_ != nullptr && context_ != nullptr && mac != nullptr);
  keyed_.reset(EVP_MAC_CTX_new(mac));
  EVP_MAC_free(mac);
  ONCEKEY_ASSERT(keyed_ != nullptr);
}

AnswerSeal::~AnswerSeal() {
  if (keyed_with_) OPENSSL_cleanse(keyed_with_->data(), keyed_with_->size());
}

AnswerSeal::Subkey AnswerSeal::derive(const SealKey& key, std::string_view salt) {
  // Setting a key up costs more than using it, and it is nearly always the same.
  if (keyed_with_ == key.bytes) {
    ONCEKEY_ASSERT(EVP_MAC_init(keyed_.get(), nullptr, 0, nullptr) == 1);
  } else {
    char digest[] = "SHA256";
    const OSSL_PARAM parameters[] = {
        OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
        OSSL_PARAM_construct_end()};
    ONCEKEY_ASSERT(EVP_MAC_init(keyed_.get(), key.bytes.data(), key.bytes.size(), parameters) == 1);
    keyed_with_ = key.bytes;
  }
  Subkey subkey{};
  std::size_t size = 0;
  ONCEKEY_ASSERT(
      EVP_MAC_update(keyed_.get(), bytes_of(derivation_label), derivation_label.size()) == 1 &&
      EVP_MAC_update(keyed_.get(), bytes_of(salt), salt.size()) == 1 &&
      EVP_MAC_final(keyed_.get(), subkey.data(), &size, subkey.size()) == 1 &&
      size == subkey.size());
  return subkey;
}

std::shared_ptr<const StoredResponse> AnswerSeal::seal(const SealKey& key, const RecordId& id,
                                                       const StoredResponse& plain) {
  ONCEKEY_ASSERT(plain.body_encoding != BodyEncoding::sealed);
  auto sealed = std::make_shared<StoredResponse>();
  sealed->schema_version = plain.schema_version;
  sealed->status = plain.status;
  sealed->body_encoding = BodyEncoding::sealed;
  std::string random(salt_size + nonce_size, '\0');
  ONCEKEY_ASSERT(RAND_bytes(bytes_of(random), static_cast<int>(random.size())) == 1);
  std::string text;
  append_response(text, plain);

  std::string& out = sealed->body;
  ByteWriter writer(out);
  writer.byte(layout);
  writer.text(key.id);
  writer.raw(random);
  const std::size_t from = out.size();
  out.resize(from + text.size() + tag_size);

  const std::string_view nonce = std::string_view(random).substr(salt_size);
  const std::string bound = binding(id, plain);
  Subkey subkey = derive(key, std::string_view(random).substr(0, salt_size));
  int size = 0;
  ONCEKEY_ASSERT(EVP_EncryptInit_ex2(context_.get(), cipher_.get(), subkey.data(), bytes_of(nonce),
                                     nullptr) == 1 &&
                 EVP_EncryptUpdate(context_.get(), nullptr, &size, bytes_of(bound),
                                   static_cast<int>(bound.size())) == 1 &&
                 EVP_EncryptUpdate(context_.get(), bytes_of(out) + from, &size, bytes_of(text),
                                   static_cast<int>(text.size())) == 1 &&
                 size == static_cast<int>(text.size()) &&
                 EVP_EncryptFinal_ex(context_.get(), nullptr, &size) == 1 &&
                 EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_GET_TAG, tag_size,
                                     bytes_of(out) + from + text.size()) == 1);
  OPENSSL_cleanse(subkey.data(), subkey.size());
  return sealed;
}

Result<std::shared_ptr<const StoredResponse>, std::string> AnswerSeal::open(
    const SealKeys& keys, const RecordId& id, const StoredResponse& sealed) {
  ONCEKEY_ASSERT(sealed.body_encoding == BodyEncoding::sealed);
  ByteReader reader(sealed.body);
  if (reader.byte() != layout) return std::string("it was sealed by a later version");
  const std::string key_id(reader.text());
  const std::string_view salt = reader.raw(salt_size);
  const std::string_view nonce = reader.raw(nonce_size);
  std::string_view rest = reader.rest();
  if (!reader.ok() || rest.size() < tag_size) return std::string("the sealed answer is damaged");
  const SealKey* const key = keys.find(key_id);
  if (key == nullptr) return "the key \"" + key_id + "\" is not among the encryption keys";
  std::string tag(rest.substr(rest.size() - tag_size));
  rest.remove_suffix(tag_size);

  const std::string bound = binding(id, sealed);
  std::string text(rest.size(), '\0');
  Subkey subkey = derive(*key, salt);
  int size = 0;
  const bool opened =
      EVP_DecryptInit_ex2(context_.get(), cipher_.get(), subkey.data(), bytes_of(nonce), nullptr) ==
          1 &&
      EVP_DecryptUpdate(context_.get(), nullptr, &size, bytes_of(bound),
                        static_cast<int>(bound.size())) == 1 &&
      EVP_DecryptUpdate(context_.get(), bytes_of(text), &size, bytes_of(rest),
                        static_cast<int>(rest.size())) == 1 &&
      EVP_CIPHER_CTX_ctrl(context_.get(), EVP_CTRL_AEAD_SET_TAG, tag_size, tag.data()) == 1 &&
      EVP_DecryptFinal_ex(context_.get(), nullptr, &size) == 1;
  OPENSSL_cleanse(subkey.data(), subkey.size());
  if (!opened) {
    OPENSSL_cleanse(text.data(), text.size());
    return "the key \"" + key_id +
           "\" does not open it: another key has that name, or the record was altered";
  }
  auto plain = decode_response(text);
  if (plain == nullptr || plain->status != sealed.status) {
    return std::string("the sealed answer is damaged");
  }
  return plain;
}

}  // namespace oncekey::store
