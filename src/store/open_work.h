// Unsettled records in memory: in_progress, failed_retryable, unknown; listed by id in each state.
// Embedded engines answer from here and need not read open records back from disk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/store.h"

namespace oncekey::store {

class OpenWork {
 public:
  struct Entry {
    Record record;
    std::uint64_t serial = 0;  // the engine's own name for the stored copy
  };

  // Null when there is none. Valid until the next change.
  const Entry* find(const RecordId& id) const;

  // Adds the record, or replaces the one with the same id. A completed record is held, too, until
  // forget_settled(), so that later operations of the same batch see it.
  void put(Record record, std::uint64_t serial);
  void erase(const RecordId& id);
  void clear();

  void forget_settled();  // what was completed is now found elsewhere

  std::uint64_t count(State state) const;

  // Adds at most `limit` records that match, ordered by id within each state.
  void list(const List& request, std::size_t limit, std::vector<Record>& found) const;

  // in_progress past its lease. Looks at all of in_progress, which the number of concurrent
  // requests bounds.
  std::vector<RecordId> leases_over(TimestampMs now, std::size_t limit) const;

  // failed_retryable past retention. Looks at no more than `limit` of them and goes on where the
  // last call ended.
  std::vector<RecordId> failed_gone(TimestampMs now, std::size_t limit);

  void for_each(const std::function<void(const Entry&)>& visit) const;

 private:
  struct ById {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.record.id < b.record.id; }
    bool operator()(const Entry& a, const RecordId& b) const { return a.record.id < b; }
    bool operator()(const RecordId& a, const Entry& b) const { return a < b.record.id; }
  };
  struct HashId {
    using is_transparent = void;
    std::size_t operator()(const RecordId& id) const {
      const std::hash<std::string_view> hash;
      return hash(id.key) ^ (hash(id.scope) * 31);
    }
    std::size_t operator()(const Entry& entry) const { return (*this)(entry.record.id); }
  };
  struct SameId {
    using is_transparent = void;
    bool operator()(const Entry& a, const Entry& b) const { return a.record.id == b.record.id; }
    bool operator()(const Entry& a, const RecordId& b) const { return a.record.id == b; }
    bool operator()(const RecordId& a, const Entry& b) const { return a == b.record.id; }
  };
  // Every request passes through the first two, so they are hashed; the others may be many and are
  // listed page by page, so they are ordered.
  using Passing = std::unordered_set<Entry, HashId, SameId>;
  using Staying = std::set<Entry, ById>;

  void list_passing(const List& request, std::size_t limit, std::vector<Record>& found) const;

  Passing in_progress_;
  Passing completed_;
  Staying failed_retryable_;
  Staying unknown_;
  std::optional<RecordId> failed_cursor_;
};

}  // namespace oncekey::store
