#include "store/rocksdb.h"

#include <rocksdb/perf_level.h>

#include <utility>

#include "boundary/decide.h"
#include "oncekey/assert.h"
#include "store/record_codec.h"
#include "store/serial.h"

namespace oncekey::store {
namespace {

rocksdb::WriteOptions synced() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

}  // namespace

void RocksEngine::apply(std::span<Operation* const> batch, TimestampMs now) {
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);  // a setting of the thread; nobody reads it
  if (broken() && !recover(now)) {
    for (Operation* operation : batch) apply_broken(*operation, now);
    return;
  }
  batch_start_ = last_serial_;
  leases_ended_.clear();
  look_ahead(batch);
  for (Operation* operation : batch) execute(*operation, *this, now);
  ahead_.clear();
  const rocksdb::Status status = write();
  if (!status.ok()) return fail(batch, status, now);
  open_.forget_settled();
  publish_stats();
}

// A batch that changed nothing costs no write and no sync.
rocksdb::Status RocksEngine::write() {
  if (epoch_changed_) Database::put_meta(write_, epoch_of(last_serial_));
  if (write_.Count() == 0) return rocksdb::Status::OK();
  const rocksdb::Status status = database_->db().Write(synced(), &write_);
  ++syncs_;
  write_.Clear();
  if (status.ok()) epoch_changed_ = false;
  return status;
}

std::uint64_t RocksEngine::next_serial() {
  ++last_serial_;
  // Four thousand million operations in one run: the next epoch begins, and must be known on disk
  // before it is used by anyone.
  if (counter_of(last_serial_) == 0) epoch_changed_ = true;
  return last_serial_;
}

Result<const Record*, std::string> RocksEngine::find(const RecordId& id, TimestampMs) {
  if (const OpenWork::Entry* entry = open_.find(id)) return &entry->record;
  return find_settled(id);
}

// Fresh keys are looked for in every file. Asking for all of a batch at once lets RocksDB fetch the
// filters' cache lines side by side instead of one after the other.
void RocksEngine::look_ahead(std::span<Operation* const> batch) {
  if (batch.size() < 2) return;
  for (Operation* operation : batch) {
    const auto* reserve = std::get_if<Reserve>(operation);
    if (reserve != nullptr && open_.find(reserve->id) == nullptr) ahead_.add(reserve->id);
  }
  ahead_.read(database_->db(), database_->settled());
}

Result<const Record*, std::string> RocksEngine::find_settled(const RecordId& id) {
  key_.clear();
  append_id(key_, id);
  rocksdb::DB& db = database_->db();
  rocksdb::PinnableSlice value;
  rocksdb::Status status;
  if (!ahead_.take(key_, value, status)) {
    status = db.Get(rocksdb::ReadOptions(), database_->settled(), key_, &value);
  }
  if (status.ok()) {
    auto record = decode_completed({value.data(), value.size()});
    if (!record) return std::string("a settled record cannot be read");
    found_ = std::move(*record);
    found_.id = id;
    return evictions_.has(found_) ? nullptr : &found_;
  }
  if (status.IsNotFound() && remembers_) {
    value.Reset();
    status = db.Get(rocksdb::ReadOptions(), database_->remembered(), key_, &value);
    if (status.ok()) {
      auto tombstone = decode_tombstone({value.data(), value.size()});
      if (!tombstone) return std::string("a tombstone cannot be read");
      found_ = std::move(tombstone->record);
      found_.id = id;
      return evictions_.has(found_) ? nullptr : &found_;
    }
  }
  if (status.IsNotFound()) return nullptr;
  return "the store cannot be read: " + status.ToString();
}

void RocksEngine::delete_stored(const OpenWork::Entry* entry) {
  // A completed entry of this batch has no stored copy in the open family any more.
  if (entry == nullptr || entry->serial == 0) return;
  write_.SingleDelete(database_->open_work(), SerialKey(entry->serial).slice());
}

void RocksEngine::store(Record record) {
  const OpenWork::Entry* entry = open_.find(record.id);
  if (entry != nullptr && entry->record.state == State::in_progress) {
    leases_ended_.emplace_back(entry->record.fence, entry->record.locked_until);
  }
  delete_stored(entry);
  value_.clear();
  if (record.state == State::completed) {
    key_.clear();
    append_id(key_, record.id);
    append_completed(value_, record);
    write_.Put(database_->settled(), key_, value_);
    if (record.tombstone_ms > 0) {
      value_.clear();
      append_tombstone(value_, record);
      write_.Put(database_->remembered(), key_, value_);
      remembers_ = true;
    }
    open_.put(std::move(record), 0);
    ++settled_;
    return;
  }
  const std::uint64_t serial = next_serial();
  append_open(value_, record);
  write_.Put(database_->open_work(), SerialKey(serial).slice(), value_);
  open_.put(std::move(record), serial);
}

// Leases need not be durable: when this process ends, so do they all.
void RocksEngine::extend(Record record) {
  const OpenWork::Entry* entry = open_.find(record.id);
  ONCEKEY_ASSERT(entry != nullptr);
  const std::uint64_t serial = entry->serial;
  open_.put(std::move(record), serial);
}

void RocksEngine::remove(const Record& record) {
  if (record.state == State::completed || record.state == State::expired) {
    evictions_.add(record, write_, database_->meta());
  }
  erase(record.id);
}

void RocksEngine::erase(const RecordId& id) {
  delete_stored(open_.find(id));
  open_.erase(id);
}

EngineInfo RocksEngine::info() const {
  return {.name = "rocksdb",
          .durability =
              "Every answered change is synced to disk: it survives a crash of the "
              "process and of the machine, but not the loss of the disk."};
}

EngineStats RocksEngine::stats() const {
  return {.in_progress = in_progress_,
          .failed_retryable = failed_retryable_,
          .unknown = unknown_,
          .settled_estimate = settled_,
          .syncs = syncs_};
}

void RocksEngine::publish_stats() {
  in_progress_ = open_.count(State::in_progress);
  failed_retryable_ = open_.count(State::failed_retryable);
  unknown_ = open_.count(State::unknown);
}

}  // namespace oncekey::store
