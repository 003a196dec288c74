// Lists and retention of the embedded store.
#include <rocksdb/iterator.h>

#include <algorithm>
#include <utility>

#include "boundary/decide.h"
#include "store/record_codec.h"
#include "store/rocksdb.h"

namespace oncekey::store {
namespace {

// A page looks at no more records than this, so that traffic does not wait for it. A page may
// then be shorter than asked for, where most of what is stored does not match.
constexpr std::size_t examined_max = 20'000;

// A file holds tens of thousands of records; dropping it costs one write of the manifest.
constexpr std::size_t files_dropped_max = 4;

// Calls `visit(id, value)` for ids in order, until it returns false.
template <class Visit>
void scan(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, const List& request,
          const Visit& visit) {
  RecordId from;
  if (request.scope) from.scope = *request.scope;
  if (request.after && *request.after > from) from = *request.after;
  std::string start;
  append_id(start, from);

  rocksdb::ReadOptions options;
  options.fill_cache = false;
  std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(options, family));
  std::size_t examined = 0;
  for (at->Seek(start); at->Valid() && examined < examined_max; at->Next(), ++examined) {
    auto id = decode_id({at->key().data(), at->key().size()});
    if (!id || (request.after && *id <= *request.after)) continue;
    if (request.scope && id->scope != *request.scope) break;
    if (!visit(std::move(*id), std::string_view(at->value().data(), at->value().size()))) break;
  }
}

}  // namespace

std::vector<RecordId> RocksEngine::leases_over(TimestampMs now, std::size_t limit) {
  return open_.leases_over(now, limit);
}

Result<std::vector<Record>, std::string> RocksEngine::list(const List& request, TimestampMs now) {
  const std::size_t limit = std::min(request.limit, list_limit_max);
  std::vector<Record> found;
  open_.list(request, limit, found);
  list_settled(request, now, limit, found);
  std::sort(found.begin(), found.end(),
            [](const Record& a, const Record& b) { return a.id < b.id; });
  if (found.size() > limit) found.resize(limit);
  return found;
}

void RocksEngine::list_settled(const List& request, TimestampMs now, std::size_t limit,
                               std::vector<Record>& found) {
  std::size_t taken = 0;
  const auto take = [&](RecordId id, Record record) {
    record.id = std::move(id);
    if (evictions_.has(record)) return true;
    record.response = nullptr;
    found.push_back(std::move(record));
    return ++taken < limit;
  };
  if (limit > 0 && (!request.state || *request.state == State::completed)) {
    scan(database_->db(), database_->settled(), request, [&](RecordId id, std::string_view value) {
      auto record = decode_completed(value);
      if (!record || now >= record->expires_at || open_.find(id) != nullptr) return true;
      return take(std::move(id), std::move(*record));
    });
  }
  taken = 0;
  if (limit > 0 && remembers_ && (!request.state || *request.state == State::expired)) {
    scan(database_->db(), database_->remembered(), request,
         [&](RecordId id, std::string_view value) {
           auto tombstone = decode_tombstone(value);
           if (!tombstone || now < tombstone->valid_from || is_gone(tombstone->record, now) ||
               open_.find(id) != nullptr) {
             return true;
           }
           return take(std::move(id), std::move(tombstone->record));
         });
  }
}

std::size_t RocksEngine::reap(TimestampMs now, std::size_t limit) {
  std::size_t reaped = 0;
  for (const RecordId& id : open_.failed_gone(now, limit)) {
    erase(id);
    ++reaped;
  }
  rocksdb::DB& db = database_->db();
  reaped += settled_files_.drop(db, *database_->settled(), now, files_dropped_max);
  reaped += remembered_files_.drop(db, *database_->remembered(), now, files_dropped_max);
  evictions_.drop(now, write_, database_->meta());
  flush_by_age(now);
  estimate_settled();
  return reaped;
}

void RocksEngine::estimate_settled() {
  std::uint64_t keys = 0;
  if (database_->db().GetIntProperty(database_->settled(),
                                     rocksdb::DB::Properties::kEstimateNumKeys, &keys)) {
    settled_ = keys;
  }
}

void RocksEngine::flush_by_age(TimestampMs now) {
  if (now - flushed_at_ < flush_age_ms) return;
  flushed_at_ = now;
  rocksdb::FlushOptions options;
  options.wait = false;
  options.allow_write_stall = true;
  // A failure shows up in the next write.
  database_->db().Flush(options, database_->families()).PermitUncheckedError();
}

}  // namespace oncekey::store
