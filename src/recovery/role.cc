#include "recovery/role.h"

namespace oncekey::recovery {

std::optional<std::vector<RecordId>> sweep_once(store::Committer& committer, std::size_t limit) {
  Sweep sweep;
  sweep.limit = limit;
  Operation operation = std::move(sweep);
  committer.apply_now(operation);
  auto* swept = std::get_if<std::vector<RecordId>>(&std::get<Sweep>(operation).outcome);
  if (!swept) return std::nullopt;
  return std::move(*swept);
}

std::optional<std::size_t> reap_once(store::Committer& committer, std::size_t limit) {
  Reap reap;
  reap.limit = limit;
  Operation operation = std::move(reap);
  committer.apply_now(operation);
  auto* reaped = std::get_if<std::size_t>(&std::get<Reap>(operation).outcome);
  if (!reaped) return std::nullopt;
  return *reaped;
}

}  // namespace oncekey::recovery
