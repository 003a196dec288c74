#include "recovery/role.h"

namespace oncekey::recovery {

Result<std::vector<RecordId>, std::string> sweep_once(store::Committer& committer,
                                                      std::size_t limit) {
  Sweep sweep;
  sweep.limit = limit;
  Operation operation = std::move(sweep);
  committer.apply_now(operation);
  auto& outcome = std::get<Sweep>(operation).outcome;
  if (const auto* down = std::get_if<Unavailable>(&outcome)) return down->reason;
  return std::get<std::vector<RecordId>>(std::move(outcome));
}

Result<std::monostate, std::string> rehearse_sweep(store::Committer& committer) {
  const auto rehearsed = sweep_once(committer, 0);
  if (!rehearsed) return rehearsed.error();
  return std::monostate();
}

Result<std::chrono::steady_clock::duration, std::string> time_to_answer(
    store::Committer& committer) {
  const auto begun = std::chrono::steady_clock::now();
  // Another one each time: in a cluster one server alone may be out of reach.
  Operation look = Get{.id = {"", std::to_string(begun.time_since_epoch().count())}, .outcome = {}};
  committer.apply_now(look);
  const auto& outcome = std::get<Get>(look).outcome;
  if (const auto* down = std::get_if<Unavailable>(&outcome)) return down->reason;
  return std::chrono::steady_clock::now() - begun;
}

Result<std::size_t, std::string> reap_once(store::Committer& committer, std::size_t limit) {
  Reap reap;
  reap.limit = limit;
  Operation operation = std::move(reap);
  committer.apply_now(operation);
  const auto& outcome = std::get<Reap>(operation).outcome;
  if (const auto* down = std::get_if<Unavailable>(&outcome)) return down->reason;
  return std::get<std::size_t>(outcome);
}

}  // namespace oncekey::recovery
