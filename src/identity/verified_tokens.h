// Tokens that were verified a moment ago, so that a client which sends the same one with every
// request is not paid for with a signature each time. One loop's own; whoever changes the keys
// clears it.
#pragma once

#include <openssl/evp.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "identity/token.h"
#include "oncekey/assert.h"

namespace oncekey::identity {

class VerifiedTokens {
 public:
  using Digest = std::array<unsigned char, 32>;

  static constexpr std::size_t capacity_default = 4'096;

  explicit VerifiedTokens(std::size_t capacity = capacity_default) : capacity_(capacity) {}

  static Digest digest_of(std::string_view token) {
    // Looked up once: that takes longer than the hash itself.
    static const EVP_MD* const sha256 = EVP_MD_fetch(nullptr, "SHA256", nullptr);
    Digest digest;
    unsigned int size = 0;
    const int made = EVP_Digest(token.data(), token.size(), digest.data(), &size, sha256, nullptr);
    ONCEKEY_ASSERT(made == 1 && size == digest.size());
    return digest;
  }

  // The caller still checks the token's times. Valid until the next insert or clear.
  const VerifiedToken* find(const Digest& digest) const {
    const auto found = tokens_.find(digest);
    return found == tokens_.end() ? nullptr : &found->second;
  }

  // The oldest makes room: tokens are short-lived, so it is also the first that expires.
  void insert(const Digest& digest, VerifiedToken token) {
    if (capacity_ == 0 || !tokens_.emplace(digest, std::move(token)).second) return;
    if (order_.size() < capacity_) {
      order_.push_back(digest);
      return;
    }
    tokens_.erase(order_[oldest_]);
    order_[oldest_] = digest;
    oldest_ = (oldest_ + 1) % capacity_;
  }

  void clear() {
    tokens_.clear();
    order_.clear();
    oldest_ = 0;
  }

  std::size_t size() const { return tokens_.size(); }

 private:
  struct Hash {
    std::size_t operator()(const Digest& digest) const {
      std::size_t hash = 0;
      std::memcpy(&hash, digest.data(), sizeof hash);
      return hash;
    }
  };

  std::size_t capacity_;
  std::unordered_map<Digest, VerifiedToken, Hash> tokens_;
  std::vector<Digest> order_;
  std::size_t oldest_ = 0;
};

}  // namespace oncekey::identity
