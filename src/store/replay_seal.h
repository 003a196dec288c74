// Completed records as they are kept outside the store that decides: authenticated, and bound to
// the record they belong to. Whoever can write to the cache can make an entry useless, never wrong.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "oncekey/record.h"

struct evp_mac_ctx_st;

namespace oncekey::store {

// Used by one thread at a time.
class ReplaySeal {
 public:
  explicit ReplaySeal(std::string_view secret);  // the deployment's
  ~ReplaySeal();

  // Under which name an id's entry is kept; tells nothing about the id to those without the secret.
  std::string name(const RecordId& id);

  // `looked_at` is when the deciding store was last known to have it so, by its own clock.
  std::string seal(const Record& completed, TimestampMs looked_at);

  struct Opened {
    Record record;
    TimestampMs looked_at = 0;
  };
  // What was sealed, if it was with the same secret for exactly this id.
  std::optional<Opened> open(const RecordId& id, std::string_view bytes);

 private:
  std::string hash(char purpose, const RecordId& id, std::string_view payload);

  struct Free {
    void operator()(evp_mac_ctx_st* context) const;
  };
  std::unique_ptr<evp_mac_ctx_st, Free> keyed_;
  std::string message_;  // kept to save its allocation
};

}  // namespace oncekey::store
