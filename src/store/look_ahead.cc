#include "store/look_ahead.h"

#include <utility>

#include "store/record_codec.h"

namespace oncekey::store {

void LookAhead::add(const RecordId& id) {
  const std::size_t begin = bytes_.size();
  append_id(bytes_, id);
  spans_.push_back({begin, bytes_.size() - begin});
}

void LookAhead::read(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family) {
  if (spans_.empty()) return;
  for (const Span& span : spans_) keys_.emplace_back(bytes_.data() + span.begin, span.size);
  values_.resize(keys_.size());
  statuses_.resize(keys_.size());
  db.MultiGet(rocksdb::ReadOptions(), family, keys_.size(), keys_.data(), values_.data(),
              statuses_.data());
}

bool LookAhead::take(std::string_view key, rocksdb::PinnableSlice& value, rocksdb::Status& status) {
  for (; next_ < keys_.size(); ++next_) {
    if (keys_[next_].ToStringView() != key) continue;
    value = std::move(values_[next_]);
    status = std::move(statuses_[next_]);
    ++next_;
    return true;
  }
  return false;
}

void LookAhead::clear() {
  bytes_.clear();
  spans_.clear();
  keys_.clear();
  values_.clear();
  statuses_.clear();
  next_ = 0;
}

}  // namespace oncekey::store
