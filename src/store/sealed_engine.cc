#include "store/sealed_engine.h"

#include <utility>

namespace oncekey::store {
namespace {

Verdict* verdict_of(Operation& operation) {
  if (auto* settle = std::get_if<Settle>(&operation)) return &settle->verdict;
  if (auto* resolve = std::get_if<Resolve>(&operation)) return &resolve->verdict;
  return nullptr;
}

const RecordId& id_of(const Operation& operation) {
  if (const auto* settle = std::get_if<Settle>(&operation)) return settle->id;
  return std::get<Resolve>(operation).id;
}

}  // namespace

SealedEngine::SealedEngine(std::unique_ptr<Engine> inner, Sealing sealing)
    : inner_(std::move(inner)), sealing_(std::move(sealing)) {}

void SealedEngine::apply(std::span<Operation* const> batch, TimestampMs now) {
  const std::shared_ptr<const SealKeys> keys = sealing_.keyring->keys();
  if (sealing_.seals) {
    for (Operation* const operation : batch) seal(*operation, *keys);
  }
  inner_->apply(batch, now);
  for (Operation* const operation : batch) open(*operation, *keys);
}

std::vector<Operation*> SealedEngine::apply_without_store(std::span<Operation* const> batch) {
  std::vector<Operation*> rest = inner_->apply_without_store(batch);
  const std::shared_ptr<const SealKeys> keys = sealing_.keyring->keys();
  for (Operation* const operation : batch) open(*operation, *keys);
  return rest;
}

void SealedEngine::seal(Operation& operation, const SealKeys& keys) {
  Verdict* const verdict = verdict_of(operation);
  if (verdict == nullptr) return;
  auto* const completed = std::get_if<SettleCompleted>(verdict);
  // What is sealed already was tried before, by a batch that the store refused.
  if (completed == nullptr || completed->response == nullptr ||
      completed->response->body_encoding == BodyEncoding::sealed) {
    return;
  }
  completed->response = answers_.seal(keys.sealing(), id_of(operation), *completed->response);
}

void SealedEngine::open(Operation& operation, const SealKeys& keys) {
  if (auto* reserve = std::get_if<Reserve>(&operation)) {
    if (auto* replay = std::get_if<Replay>(&reserve->outcome)) {
      open(reserve->id, replay->response, keys);
    }
  } else if (auto* get = std::get_if<Get>(&operation)) {
    auto* const found = std::get_if<std::optional<Record>>(&get->outcome);
    if (found != nullptr && *found) open(get->id, (*found)->response, keys);
  }
}

void SealedEngine::open(const RecordId& id, std::shared_ptr<const StoredResponse>& response,
                        const SealKeys& keys) {
  if (response == nullptr || response->body_encoding != BodyEncoding::sealed) return;
  auto opened = answers_.open(keys, id, *response);
  if (opened) {
    response = std::move(*opened);
  } else if (sealing_.unreadable) {
    sealing_.unreadable({id, opened.error()});
  }
}

}  // namespace oncekey::store
