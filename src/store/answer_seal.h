// Answers as they are kept when they are encrypted: headers and body in one piece, AES-256-GCM,
// bound to the record they belong to. The status stays in clear.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "oncekey/record.h"
#include "oncekey/result.h"
#include "store/seal_keys.h"

struct evp_cipher_ctx_st;
struct evp_cipher_st;
struct evp_mac_ctx_st;

namespace oncekey::store {

// Used by one thread at a time.
class AnswerSeal {
 public:
  AnswerSeal();
  ~AnswerSeal();

  std::shared_ptr<const StoredResponse> seal(const SealKey& key, const RecordId& id,
                                             const StoredResponse& plain);

  // The answer as it was before seal(). The error, for operators, says which key is missing or that
  // the bytes were not sealed for this record by this key; what they hold is never shown then.
  Result<std::shared_ptr<const StoredResponse>, std::string> open(const SealKeys& keys,
                                                                  const RecordId& id,
                                                                  const StoredResponse& sealed);

 private:
  struct Free {
    void operator()(evp_cipher_ctx_st* context) const;
    void operator()(evp_cipher_st* cipher) const;
    void operator()(evp_mac_ctx_st* context) const;
  };
  using Subkey = std::array<std::uint8_t, 32>;
  Subkey derive(const SealKey& key, std::string_view salt);

  std::unique_ptr<evp_cipher_st, Free> cipher_;
  std::unique_ptr<evp_cipher_ctx_st, Free> context_;
  std::unique_ptr<evp_mac_ctx_st, Free> keyed_;
  std::optional<Subkey> keyed_with_;  // empty: with none yet
};

}  // namespace oncekey::store
