#include "store/rocksdb_evictions.h"

#include <rocksdb/iterator.h>

#include <memory>

#include "oncekey/assert.h"
#include "store/bytes.h"
#include "store/record_codec.h"

namespace oncekey::store {
namespace {

constexpr std::string_view prefix = "evicted/";

}  // namespace

std::string Evictions::key_of(const RecordId& id, const Note& note) {
  std::string key(prefix);
  ByteWriter out(key);
  out.number(static_cast<std::uint64_t>(note.completed_at));
  out.number(note.fence);
  append_id(key, id);
  return key;
}

std::string Evictions::load(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  notes_.clear();
  std::unique_ptr<rocksdb::Iterator> at(db.NewIterator(rocksdb::ReadOptions(), family));
  for (at->Seek({prefix.data(), prefix.size()}); at->Valid(); at->Next()) {
    const std::string_view key(at->key().data(), at->key().size());
    if (!key.starts_with(prefix)) break;
    ByteReader in(key.substr(prefix.size()));
    Note note;
    note.completed_at = static_cast<TimestampMs>(in.number());
    note.fence = in.number();
    const auto id = decode_id(in.rest());
    ByteReader value({at->value().data(), at->value().size()});
    note.until = static_cast<TimestampMs>(value.number());
    if (!in.ok() || !id || !value.ok()) return "the store holds an eviction that cannot be read";
    notes_[*id].push_back(note);
  }
  return at->status().ok() ? "" : "the store cannot be read: " + at->status().ToString();
}

void Evictions::add(const Record& settled, rocksdb::WriteBatch& write,
                    rocksdb::ColumnFamilyHandle* family) {
  ONCEKEY_ASSERT(settled.state == State::completed || settled.state == State::expired);
  Note note{settled.completed_at, settled.fence, settled.expires_at};
  if (settled.state == State::completed) note.until += settled.tombstone_ms;
  std::string value;
  ByteWriter(value).number(static_cast<std::uint64_t>(note.until));
  write.Put(family, key_of(settled.id, note), value);
  notes_[settled.id].push_back(note);
}

bool Evictions::has(const Record& settled) const {
  if (notes_.empty()) return false;
  const auto found = notes_.find(settled.id);
  if (found == notes_.end()) return false;
  for (const Note& note : found->second) {
    const bool fences_differ = note.fence != 0 && settled.fence != 0 && note.fence != settled.fence;
    if (note.completed_at == settled.completed_at && !fences_differ) return true;
  }
  return false;
}

void Evictions::drop(TimestampMs now, rocksdb::WriteBatch& write,
                     rocksdb::ColumnFamilyHandle* family) {
  for (auto at = notes_.begin(); at != notes_.end();) {
    auto& [id, notes] = *at;
    std::erase_if(notes, [&, &key = id](const Note& note) {
      if (now < note.until) return false;
      write.Delete(family, key_of(key, note));
      return true;
    });
    at = notes.empty() ? notes_.erase(at) : std::next(at);
  }
}

}  // namespace oncekey::store
