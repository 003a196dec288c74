#include "store/open_work.h"

#include <algorithm>
#include <utility>

#include "boundary/decide.h"
#include "oncekey/assert.h"

namespace oncekey::store {

namespace {

template <class Entries>
const OpenWork::Entry* find_in(const Entries& entries, const RecordId& id) {
  if (entries.empty()) return nullptr;
  const auto found = entries.find(id);
  return found == entries.end() ? nullptr : &*found;
}

// The entry's node, to be used again; empty when it is not here.
template <class Entries>
typename Entries::node_type take_from(Entries& entries, const RecordId& id) {
  if (entries.empty()) return {};
  const auto found = entries.find(id);
  if (found == entries.end()) return {};
  return entries.extract(found);
}

}  // namespace

std::uint64_t OpenWork::count(State state) const {
  switch (state) {
    case State::in_progress:
      return in_progress_.size();
    case State::failed_retryable:
      return failed_retryable_.size();
    case State::unknown:
      return unknown_.size();
    case State::completed:
    case State::expired:
      break;
  }
  return 0;
}

const OpenWork::Entry* OpenWork::find(const RecordId& id) const {
  const Entry* entry = find_in(in_progress_, id);
  if (entry == nullptr) entry = find_in(completed_, id);
  if (entry == nullptr) entry = find_in(failed_retryable_, id);
  if (entry == nullptr) entry = find_in(unknown_, id);
  return entry;
}

void OpenWork::put(Record record, std::uint64_t serial) {
  // Reusing the node saves an allocation for the changes that every request makes.
  Passing::node_type node = take_from(in_progress_, record.id);
  if (node.empty()) node = take_from(completed_, record.id);
  if (node.empty() && !take_from(failed_retryable_, record.id)) take_from(unknown_, record.id);

  const State state = record.state;
  Entry entry{std::move(record), serial};
  if (state == State::failed_retryable || state == State::unknown) {
    (state == State::unknown ? unknown_ : failed_retryable_).insert(std::move(entry));
    return;
  }
  ONCEKEY_ASSERT(state == State::in_progress || state == State::completed);
  Passing& target = state == State::in_progress ? in_progress_ : completed_;
  if (node.empty()) {
    target.insert(std::move(entry));
  } else {
    node.value() = std::move(entry);
    target.insert(std::move(node));
  }
}

void OpenWork::erase(const RecordId& id) {
  take_from(in_progress_, id);
  take_from(completed_, id);
  take_from(failed_retryable_, id);
  take_from(unknown_, id);
}

void OpenWork::clear() {
  in_progress_.clear();
  completed_.clear();
  failed_retryable_.clear();
  unknown_.clear();
}

void OpenWork::forget_settled() {
  completed_.clear();
}

void OpenWork::list(const List& request, std::size_t limit, std::vector<Record>& found) const {
  if (!request.state || *request.state == State::in_progress) list_passing(request, limit, found);
  for (const State state : {State::failed_retryable, State::unknown}) {
    if (request.state && *request.state != state) continue;
    const Staying& entries = state == State::unknown ? unknown_ : failed_retryable_;
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

// The number of concurrent requests bounds what is looked at.
void OpenWork::list_passing(const List& request, std::size_t limit,
                            std::vector<Record>& found) const {
  std::vector<const Record*> matching;
  for (const Entry& entry : in_progress_) {
    const RecordId& id = entry.record.id;
    if (request.scope && id.scope != *request.scope) continue;
    if (request.after && id <= *request.after) continue;
    matching.push_back(&entry.record);
  }
  std::sort(matching.begin(), matching.end(),
            [](const Record* a, const Record* b) { return a->id < b->id; });
  if (matching.size() > limit) matching.resize(limit);
  for (const Record* record : matching) found.push_back(*record);
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
  for (const Entry& entry : in_progress_) visit(entry);
  for (const Entry& entry : failed_retryable_) visit(entry);
  for (const Entry& entry : unknown_) visit(entry);
}

}  // namespace oncekey::store
