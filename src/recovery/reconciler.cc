#include "recovery/reconciler.h"

#include <algorithm>

namespace oncekey::recovery {
namespace {

constexpr std::size_t page_size = 500;
constexpr std::size_t records_scanned_max = 10'000;  // in one run

}  // namespace

ReconcileCounts Reconciler::run_once(std::size_t limit) {
  ReconcileCounts counts;
  const std::vector<Record> records = due(limit, counts);
  for (std::size_t begin = 0; begin < records.size(); begin += concurrency) {
    std::vector<Claimed> claimed;
    const std::size_t end = std::min(records.size(), begin + concurrency);
    for (std::size_t i = begin; i < end; ++i) {
      if (auto one = claim(records[i], counts)) claimed.push_back(std::move(*one));
    }
    const std::vector<Finding> findings = ask(claimed);
    for (std::size_t i = 0; i < claimed.size(); ++i) settle(claimed[i], findings[i], counts);
  }
  return counts;
}

std::vector<Record> Reconciler::due(std::size_t limit, ReconcileCounts& counts) {
  std::vector<Record> due;
  for (std::size_t scanned = 0; scanned < records_scanned_max;) {
    List list;
    list.state = State::unknown;
    list.after = after_;
    list.limit = page_size;
    Operation operation = std::move(list);
    parts_.committer.apply_now(operation);
    auto* page = std::get_if<std::vector<Record>>(&std::get<List>(operation).outcome);
    if (!page) {
      ++counts.errors;
      return due;
    }
    scanned += page->size();
    for (Record& record : *page) {
      if (due.size() == limit) {
        counts.more = true;
        return due;
      }
      after_ = record.id;
      const auto note = parse_note(record.last_error);
      if (note && note->for_operator) ++for_operator_in_pass_;
      if (record.reconcile_after <= record.read_at && parts_.rules_of(record)) {
        due.push_back(std::move(record));
      }
    }
    if (page->size() < page_size) {
      after_.reset();
      operator_queue_ = std::exchange(for_operator_in_pass_, 0);
      return due;
    }
  }
  counts.more = true;
  return due;
}

std::optional<Reconciler::Claimed> Reconciler::claim(const Record& record,
                                                     ReconcileCounts& counts) {
  const ProbeRules* rules = parts_.rules_of(record);
  if (!rules) return std::nullopt;  // taken away by a reload since it was found to be due
  Resolve put_off;
  put_off.id = record.id;
  put_off.fence = record.fence;
  put_off.verdict = SettleUnknown{record.last_error, asking_ms(*rules)};
  Operation operation = std::move(put_off);
  parts_.committer.apply_now(operation);
  const SettleOutcome& outcome = std::get<Resolve>(operation).outcome;
  if (std::holds_alternative<Unavailable>(outcome)) ++counts.errors;
  if (!std::holds_alternative<Settled>(outcome)) return std::nullopt;

  Get get;
  get.id = record.id;
  operation = std::move(get);
  parts_.committer.apply_now(operation);
  auto* found = std::get_if<std::optional<Record>>(&std::get<Get>(operation).outcome);
  if (!found) ++counts.errors;
  // Somebody else may have settled it in between: an operator, a webhook.
  if (!found || !*found || (*found)->state != State::unknown ||
      (*found)->attempt != record.attempt) {
    return std::nullopt;
  }
  ++counts.looked_at;
  const TimestampMs now = (*found)->reconcile_after - asking_ms(*rules);
  return Claimed{std::move(**found), rules, now};
}

std::vector<Finding> Reconciler::ask(const std::vector<Claimed>& claimed) {
  std::vector<Finding> findings(claimed.size(), NotSure{"there is nobody to ask: no probe is set"});
  std::vector<ProbeRequest> requests;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < claimed.size(); ++i) {
    if (claimed[i].rules->get.empty()) continue;
    requests.push_back(probe_request(*claimed[i].rules, claimed[i].record.id));
    places.push_back(i);
  }
  const std::vector<ProbeAnswer> answers = parts_.prober.ask(requests);
  for (std::size_t i = 0; i < places.size(); ++i) {
    findings[places[i]] = judge(*claimed[places[i]].rules, answers[i]);
  }
  return findings;
}

void Reconciler::settle(const Claimed& claimed, const Finding& finding, ReconcileCounts& counts) {
  ReconcilePlan planned = plan(*claimed.rules, claimed.record, finding, claimed.now);
  Resolve resolve;
  resolve.id = claimed.record.id;
  resolve.fence = claimed.record.fence;
  resolve.verdict = planned.verdict;
  resolve.by = "reconciler";
  Operation operation = std::move(resolve);
  parts_.committer.apply_now(operation);
  const SettleOutcome& outcome = std::get<Resolve>(operation).outcome;
  if (std::holds_alternative<Unavailable>(outcome)) ++counts.errors;
  if (!std::holds_alternative<Settled>(outcome)) return;
  State state = State::unknown;
  std::string_view reason = "the probe found that it was executed";
  if (std::holds_alternative<SettleCompleted>(planned.verdict)) {
    state = State::completed;
    ++counts.completed;
  } else if (const auto* failed = std::get_if<SettleFailed>(&planned.verdict)) {
    state = State::failed_retryable;
    reason = failed->error;
    ++counts.failed_retryable;
  } else {
    reason = std::get<SettleUnknown>(planned.verdict).error;
    ++counts.still_unknown;
    if (planned.to_operator) ++counts.to_operator;
  }
  parts_.report({claimed.record.id, state, reason, planned.to_operator});
}

}  // namespace oncekey::recovery
