// Settled records that an operator had forgotten. Their bytes stay in files that are never
// rewritten, until these expire; a note beside them says that they count no more. Notes are few.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <map>
#include <string>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::store {

class Evictions {
 public:
  // Replaces what it knows by the notes of the database. "": good.
  std::string load(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

  // `settled` is completed or expired.
  void add(const Record& settled, rocksdb::WriteBatch& write, rocksdb::ColumnFamilyHandle* family);
  bool has(const Record& settled) const;

  // Notes whose record is past its time anyway.
  void drop(TimestampMs now, rocksdb::WriteBatch& write, rocksdb::ColumnFamilyHandle* family);

 private:
  struct Note {
    TimestampMs completed_at = 0;
    Fence fence = 0;  // 0: not known, of a tombstone
    TimestampMs until = 0;
  };
  static std::string key_of(const RecordId& id, const Note& note);

  std::map<RecordId, std::vector<Note>> notes_;
};

}  // namespace oncekey::store
