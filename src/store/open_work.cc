#include "store/open_work.h"

#include <utility>

#include "boundary/decide.h"
#include "oncekey/assert.h"

namespace oncekey::store {

OpenWork::Entries& OpenWork::of(State state) {
  switch (state) {
    case State::in_progress:
      return in_progress_;
    case State::failed_retryable:
      return failed_retryable_;
    case State::unknown:
      return unknown_;
    case State::completed:
      return completed_;
    case State::expired:
      break;
  }
  ONCEKEY_ASSERT(false);
  return in_progress_;
}

const OpenWork::Entry* OpenWork::find(const RecordId& id) const {
  for (const Entries* entries : {&in_progress_, &completed_, &failed_retryable_, &unknown_}) {
    if (entries->empty()) continue;
    const auto found = entries->find(id);
    if (found != entries->end()) return &*found;
  }
  return nullptr;
}

OpenWork::Entries::node_type OpenWork::extract(const RecordId& id) {
  for (Entries* entries : {&in_progress_, &completed_, &failed_retryable_, &unknown_}) {
    if (entries->empty()) continue;
    const auto found = entries->find(id);
    if (found != entries->end()) return entries->extract(found);
  }
  return {};
}

void OpenWork::put(Record record, std::uint64_t serial) {
  Entries& target = of(record.state);
  // Reusing the node saves an allocation for each change of state.
  Entries::node_type node = extract(record.id);
  if (node.empty()) {
    target.insert(Entry{std::move(record), serial});
    return;
  }
  node.value() = Entry{std::move(record), serial};
  const auto inserted = target.insert(std::move(node));
  ONCEKEY_ASSERT(inserted.inserted);
}

void OpenWork::erase(const RecordId& id) {
  extract(id);
}

void OpenWork::clear() {
  for (Entries* entries : {&in_progress_, &completed_, &failed_retryable_, &unknown_}) {
    entries->clear();
  }
}

void OpenWork::forget_settled() {
  completed_.clear();
}

void OpenWork::list(const List& request, std::size_t limit, std::vector<Record>& found) const {
  for (const State state : {State::in_progress, State::failed_retryable, State::unknown}) {
    if (request.state && *request.state != state) continue;
    const Entries& entries = of(state);
    auto at = entries.begin();
    if (request.scope) at = entries.lower_bound(RecordId{*request.scope, ""});
    if (request.after) {
      const auto next = entries.upper_bound(*request.after);
      if (at != entries.end() && at->record.id <= *request.after) at = next;
    }
    for (std::size_t taken = 0; at != entries.end() && taken < limit; ++at, ++taken) {
      if (request.scope && at->record.id.scope != *request.scope) break;
      found.push_back(at->record);
    }
  }
}

std::vector<RecordId> OpenWork::leases_over(TimestampMs now, std::size_t limit) const {
  std::vector<RecordId> over;
  for (const Entry& entry : in_progress_) {
    if (over.size() == limit) break;
    if (now >= entry.record.locked_until) over.push_back(entry.record.id);
  }
  return over;
}

std::vector<RecordId> OpenWork::failed_gone(TimestampMs now, std::size_t limit) {
  std::vector<RecordId> gone;
  auto at =
      failed_cursor_ ? failed_retryable_.upper_bound(*failed_cursor_) : failed_retryable_.begin();
  for (std::size_t seen = 0; at != failed_retryable_.end() && seen < limit; ++at, ++seen) {
    if (is_gone(at->record, now)) gone.push_back(at->record.id);
    failed_cursor_ = at->record.id;
  }
  if (at == failed_retryable_.end()) failed_cursor_.reset();
  return gone;
}

void OpenWork::for_each(const std::function<void(const Entry&)>& visit) const {
  for (const Entries* entries : {&in_progress_, &failed_retryable_, &unknown_}) {
    for (const Entry& entry : *entries) visit(entry);
  }
}

}  // namespace oncekey::store
