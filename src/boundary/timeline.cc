#include "boundary/timeline.h"

#include <string>
#include <utility>

#include "boundary/history.h"

namespace oncekey {
namespace {

// When it became what it is, as far as its fields tell.
TimestampMs since(const Record& record) {
  switch (record.state) {
    case State::completed:
      return record.completed_at;
    case State::expired:
      return record.expires_at - record.tombstone_ms;
    case State::failed_retryable:
      return record.expires_at - record.retention_ms;
    case State::in_progress:
    case State::unknown:
      break;
  }
  return 0;
}

Transition present(const Record& record) {
  Transition now;
  now.at = since(record);
  now.state = record.state;
  now.attempt = record.attempt;
  if (record.state != State::expired) now.by = record.owner;
  now.reason = record.last_error;
  return now;
}

}  // namespace

std::vector<Transition> timeline(const Record& record) {
  std::vector<Transition> all = history_before(record);
  const auto is_last = [&](State state) {
    return all.back().state == state && all.back().attempt == record.attempt;
  };
  if (record.state == State::expired) {
    if (!is_last(State::completed)) {
      Transition completed;
      completed.at = record.completed_at;
      completed.state = State::completed;
      completed.attempt = record.attempt;
      completed.by = record.owner;
      all.push_back(std::move(completed));
    }
    all.push_back(present(record));
  } else if (!is_last(record.state)) {
    all.push_back(present(record));
  }
  return all;
}

}  // namespace oncekey
