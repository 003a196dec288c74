// Opening the store, and opening it again after a failed write.
#include <rocksdb/iterator.h>

#include <algorithm>
#include <utility>

#include "boundary/decide.h"
#include "oncekey/assert.h"
#include "store/record_codec.h"
#include "store/rocksdb.h"
#include "store/serial.h"

namespace oncekey::store {
namespace {

constexpr const char* probe_file = "/probe";
constexpr std::size_t probe_bytes = 1 << 20;

// Opening a database that cannot be written would lose the reads that still work.
rocksdb::Status probe(rocksdb::Env& env, const std::string& folder) {
  const std::string path = folder + probe_file;
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.NewWritableFile(path, &file, rocksdb::EnvOptions());
  if (!status.ok()) return status;
  status = file->Append(std::string(probe_bytes, '\0'));
  if (status.ok()) status = file->Sync();
  const rocksdb::Status closed = file->Close();
  env.DeleteFile(path).PermitUncheckedError();
  return status.ok() ? closed : status;
}

}  // namespace

Result<std::unique_ptr<Engine>, std::string> RocksEngine::open(const RocksOptions& options) {
  ONCEKEY_ASSERT(options.clock != nullptr);
  if (options.path.empty())
    return std::string("rocksdb: needs a path, as in rocksdb:./oncekey-data");
  auto database = Database::open(options.path, options.env);
  if (!database) return database.error();
  std::unique_ptr<RocksEngine> engine(new RocksEngine(options));
  engine->database_ = std::move(*database);
  std::string wrong = engine->start(options.clock());
  if (!wrong.empty()) return wrong;
  return std::unique_ptr<Engine>(std::move(engine));
}

RocksEngine::~RocksEngine() {
  // A last chance to withdraw what was refused; otherwise it is unknown to the next run.
  if (broken()) {
    recover_at_ = 0;
    recover(options_.clock());
  }
}

std::string RocksEngine::start(TimestampMs now) {
  flushed_at_ = now;
  last_serial_ = epoch_start(database_->epoch() + 1);
  epoch_changed_ = true;
  std::string wrong = load(open_);
  if (!wrong.empty()) return wrong;
  give_up_orphans(now);
  const rocksdb::Status status = write();
  if (!status.ok()) return "the store cannot be written: " + status.ToString();
  estimate_settled();
  publish_stats();
  return "";
}

std::string RocksEngine::load(OpenWork& open) {
  rocksdb::DB& db = database_->db();
  std::unique_ptr<rocksdb::Iterator> at(
      db.NewIterator(rocksdb::ReadOptions(), database_->open_work()));
  for (at->SeekToFirst(); at->Valid(); at->Next()) {
    const auto serial = SerialKey::decode({at->key().data(), at->key().size()});
    auto record = decode_open({at->value().data(), at->value().size()});
    if (!serial || !record) return "the store holds an open record that cannot be read";
    if (open.find(record->id) != nullptr) return "the store holds two open records of one key";
    open.put(std::move(*record), *serial);
  }
  if (!at->status().ok()) return "the store cannot be read: " + at->status().ToString();

  at.reset(db.NewIterator(rocksdb::ReadOptions(), database_->remembered()));
  at->SeekToFirst();
  remembers_ = at->Valid() || !at->status().ok();
  return evictions_.load(db, database_->meta());
}

// This process is the only owner, so whatever was in progress has lost its worker.
void RocksEngine::give_up_orphans(TimestampMs now) {
  std::vector<Record> dead;
  open_.for_each([&](const OpenWork::Entry& entry) {
    if (entry.record.state == State::in_progress) dead.push_back(entry.record);
  });
  for (Record& record : dead) {
    orphans_.push_back(record.id);
    store(orphaned(std::move(record), now, next_fence()));
  }
}

void RocksEngine::fail(std::span<Operation* const> batch, const rocksdb::Status& status,
                       TimestampMs now) {
  failure_ = "the store cannot be written: " + status.ToString();
  refused_above_ = batch_start_;
  failed_in_doubt_.clear();
  for (Operation* operation : batch) {
    if (const Settle* settle = std::get_if<Settle>(operation);
        settle != nullptr && std::holds_alternative<SettleFailed>(settle->verdict)) {
      failed_in_doubt_.emplace(settle->id, settle->fence);
    }
    const Reserve* reserve = std::get_if<Reserve>(operation);
    const bool in_use = reserve != nullptr && !std::holds_alternative<Execute>(reserve->outcome);
    refuse(*operation, {.reason = failure_, .in_use = in_use});
  }
  recover_at_ = now + recovery_pause_ms;
}

// Settled records do not change, so those that the failed batch did not touch can be answered.
void RocksEngine::apply_broken(Operation& operation, TimestampMs now) {
  const RecordId* id = nullptr;
  if (const Reserve* reserve = std::get_if<Reserve>(&operation)) id = &reserve->id;
  if (const Get* get = std::get_if<Get>(&operation)) id = &get->id;
  if (id != nullptr && database_ != nullptr && open_.find(*id) == nullptr) {
    const auto settled = find_settled(*id);
    if (settled && *settled != nullptr && !is_gone(**settled, now)) {
      return execute(operation, *this, now);
    }
  }
  const bool in_use = id != nullptr && open_.find(*id) != nullptr;
  refuse(operation, {.reason = failure_, .in_use = in_use});
}

bool RocksEngine::recover(TimestampMs now) {
  // The second condition: a clock that was set back must not make this wait for long.
  if (now < recover_at_ && recover_at_ - now <= recovery_pause_ms) return false;
  recover_at_ = now + recovery_pause_ms;
  std::string wrong = reopen(now);
  if (!wrong.empty()) {
    failure_ = std::move(wrong);
    return false;
  }
  failure_.clear();
  failed_in_doubt_.clear();
  publish_stats();
  return true;
}

std::string RocksEngine::reopen(TimestampMs now) {
  rocksdb::Env* const env = options_.env != nullptr ? options_.env : rocksdb::Env::Default();
  const rocksdb::Status space = probe(*env, options_.path);
  if (!space.ok()) return "the store cannot be written: " + space.ToString();

  database_.reset();
  auto database = Database::open(options_.path, options_.env);
  if (!database) return database.error();
  database_ = std::move(*database);

  OpenWork on_disk;
  std::string wrong = load(on_disk);
  if (!wrong.empty()) return wrong;
  const OpenWork before = std::exchange(open_, std::move(on_disk));
  withdraw_refused(before, now);
  epoch_changed_ = true;
  const rocksdb::Status status = write();
  // `refused_above_` stays: should this fail, the next attempt withdraws the same records.
  return status.ok() ? "" : "the store cannot be written: " + status.ToString();
}

void RocksEngine::withdraw_refused(const OpenWork& before, TimestampMs now) {
  std::vector<Record> held;
  open_.for_each([&](const OpenWork::Entry& entry) {
    if (entry.record.state == State::in_progress) held.push_back(entry.record);
  });
  for (Record& record : held) {
    if (record.fence > refused_above_) {
      auto previous = withdrawn(record, now);
      if (!previous) {
        erase(record.id);
        continue;
      }
      // The same batch held the settle that made this reserve possible; its owner will repeat it.
      const auto settle = failed_in_doubt_.find(record.id);
      if (settle != failed_in_doubt_.end()) previous->fence = settle->second;
      store(std::move(*previous));
    } else {
      record.locked_until = lease_after_recovery(record, before, now);
      extend(std::move(record));
    }
  }
}

// Heartbeats are only in memory, so the lease on disk is an old one.
TimestampMs RocksEngine::lease_after_recovery(const Record& held, const OpenWork& before,
                                              TimestampMs now) const {
  const auto ended = std::find_if(leases_ended_.begin(), leases_ended_.end(),
                                  [&](const auto& lease) { return lease.first == held.fence; });
  // The failed batch had settled it. Its owner is in this process and will repeat that: it must not
  // find the record swept.
  if (ended != leases_ended_.end()) return std::max(ended->second, now + settle_again_ms);
  const OpenWork::Entry* entry = before.find(held.id);
  const bool known = entry != nullptr && entry->record.fence == held.fence &&
                     entry->record.state == State::in_progress;
  return known ? entry->record.locked_until : held.locked_until;
}

}  // namespace oncekey::store
