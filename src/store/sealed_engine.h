// Encryption at rest before any engine: answers are sealed on their way in and opened on their way
// out, so that no engine, cache or log of one ever holds them in clear.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "oncekey/store.h"
#include "store/answer_seal.h"

namespace oncekey::store {

// An answer that no key opens is left sealed: whoever would serve it finds that it cannot be read.
struct UnreadableAnswer {
  RecordId id;
  std::string reason;
};

struct Sealing {
  std::shared_ptr<SealKeyring> keyring;  // null: nothing is encrypted
  bool seals = true;                     // false: opens what others have sealed, no more
  // On an engine's thread; may be empty.
  std::function<void(const UnreadableAnswer&)> unreadable;
};

class SealedEngine : public Engine {
 public:
  SealedEngine(std::unique_ptr<Engine> inner, Sealing sealing);
  void apply(std::span<Operation* const> batch, TimestampMs now) override;
  std::vector<Operation*> apply_without_store(std::span<Operation* const> batch) override;
  EngineInfo info() const override { return inner_->info(); }
  EngineStats stats() const override { return inner_->stats(); }
  EngineCounts counts() const override { return inner_->counts(); }
  std::vector<RecordId> take_orphans() override { return inner_->take_orphans(); }

 private:
  void seal(Operation& operation, const SealKeys& keys);
  void open(Operation& operation, const SealKeys& keys);
  void open(const RecordId& id, std::shared_ptr<const StoredResponse>& response,
            const SealKeys& keys);

  std::unique_ptr<Engine> inner_;
  Sealing sealing_;
  AnswerSeal answers_;
};

}  // namespace oncekey::store
