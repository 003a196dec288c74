#include "store/replay_seal.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>

#include "oncekey/assert.h"
#include "store/bytes.h"
#include "store/record_codec.h"

namespace oncekey::store {
namespace {

constexpr std::size_t tag_size = 32;
constexpr std::string_view label = "oncekey replay entry 2";

}  // namespace

void ReplaySeal::Free::operator()(evp_mac_ctx_st* context) const {
  EVP_MAC_CTX_free(context);
}

ReplaySeal::ReplaySeal(std::string_view secret) {
  EVP_MAC* const mac = EVP_MAC_fetch(nullptr, "HMAC", nullptr);
  ONCEKEY_ASSERT(mac != nullptr);
  keyed_.reset(EVP_MAC_CTX_new(mac));
  EVP_MAC_free(mac);
  char digest[] = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_end()};
  const auto* key = reinterpret_cast<const unsigned char*>(secret.data());
  ONCEKEY_ASSERT(keyed_ != nullptr &&
                 EVP_MAC_init(keyed_.get(), key, secret.size(), parameters) == 1);
}

ReplaySeal::~ReplaySeal() = default;

std::string ReplaySeal::hash(char purpose, const RecordId& id, std::string_view payload) {
  message_.clear();
  ByteWriter writer(message_);
  writer.text(label);
  writer.byte(static_cast<std::uint8_t>(purpose));
  writer.text(id.scope);
  writer.text(id.key);
  writer.text(payload);
  std::string tag(tag_size, '\0');
  std::size_t size = 0;
  const auto* bytes = reinterpret_cast<const unsigned char*>(message_.data());
  auto* out = reinterpret_cast<unsigned char*>(tag.data());
  ONCEKEY_ASSERT(EVP_MAC_init(keyed_.get(), nullptr, 0, nullptr) == 1 &&
                 EVP_MAC_update(keyed_.get(), bytes, message_.size()) == 1 &&
                 EVP_MAC_final(keyed_.get(), out, &size, tag.size()) == 1 && size == tag_size);
  return tag;
}

std::string ReplaySeal::name(const RecordId& id) {
  return hash('n', id, {});
}

std::string ReplaySeal::seal(const Record& completed, TimestampMs looked_at) {
  ONCEKEY_ASSERT(completed.state == State::completed);
  std::string payload;
  ByteWriter(payload).number(static_cast<std::uint64_t>(looked_at));
  append_completed(payload, completed);
  return hash('v', completed.id, payload) + payload;
}

std::optional<ReplaySeal::Opened> ReplaySeal::open(const RecordId& id, std::string_view bytes) {
  if (bytes.size() < tag_size) return std::nullopt;
  const std::string_view payload = bytes.substr(tag_size);
  const std::string expected = hash('v', id, payload);
  if (CRYPTO_memcmp(expected.data(), bytes.data(), tag_size) != 0) return std::nullopt;
  ByteReader in(payload);
  Opened opened;
  opened.looked_at = static_cast<TimestampMs>(in.number());
  std::optional<Record> record = decode_completed(in.rest());
  if (!record) return std::nullopt;
  opened.record = std::move(*record);
  opened.record.id = id;
  return opened;
}

}  // namespace oncekey::store
