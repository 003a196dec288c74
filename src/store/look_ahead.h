// Settled records of one batch, read together before its operations run one by one. What a batch
// itself settles is found in the open work first, so nothing here can be out of date.
#pragma once

#include <rocksdb/db.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::store {

class LookAhead {
 public:
  void add(const RecordId& id);
  void read(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family);

  // What was read for this key; false: it was not looked for. Keys must be taken in the order in
  // which they were added; some may be left out.
  bool take(std::string_view key, rocksdb::PinnableSlice& value, rocksdb::Status& status);
  void clear();

 private:
  struct Span {
    std::size_t begin;
    std::size_t size;
  };

  std::string bytes_;  // all keys, one after the other
  std::vector<Span> spans_;
  std::vector<rocksdb::Slice> keys_;
  std::vector<rocksdb::PinnableSlice> values_;
  std::vector<rocksdb::Status> statuses_;
  std::size_t next_ = 0;
};

}  // namespace oncekey::store
