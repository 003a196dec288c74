// How much an operation carries: batches with large answers are cut, so that each piece has time.
#pragma once

#include <cstddef>
#include <variant>

#include "oncekey/store.h"

namespace oncekey::store {

inline std::size_t answer_bytes(const Operation& operation) {
  const auto* settle = std::get_if<Settle>(&operation);
  if (settle == nullptr) return 0;
  const auto* completed = std::get_if<SettleCompleted>(&settle->verdict);
  const bool has_answer = completed != nullptr && completed->response != nullptr;
  return has_answer ? completed->response->body.size() : 0;
}

}  // namespace oncekey::store
