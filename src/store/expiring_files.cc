#include "store/expiring_files.h"

#include <rocksdb/metadata.h>

#include <algorithm>

#include "store/bytes.h"

namespace oncekey::store {
namespace {

constexpr const char* expiry_property = "oncekey.expires_at";

class ExpiryCollector : public rocksdb::TablePropertiesCollector {
 public:
  explicit ExpiryCollector(ReadExpiry read_expiry) : read_expiry_(read_expiry) {}

  rocksdb::Status AddUserKey(const rocksdb::Slice&, const rocksdb::Slice& value,
                             rocksdb::EntryType type, rocksdb::SequenceNumber, uint64_t) override {
    if (type != rocksdb::kEntryPut) return rocksdb::Status::OK();
    const auto expiry = read_expiry_({value.data(), value.size()});
    if (expiry) {
      latest_ = std::max(latest_, *expiry);
    } else {
      unreadable_ = true;
    }
    return rocksdb::Status::OK();
  }

  rocksdb::Status Finish(rocksdb::UserCollectedProperties* properties) override {
    // Without the property the file is kept: what cannot be read must not be dropped.
    if (!unreadable_) {
      std::string value;
      ByteWriter(value).number(static_cast<std::uint64_t>(latest_));
      properties->insert({expiry_property, value});
    }
    return rocksdb::Status::OK();
  }

  rocksdb::UserCollectedProperties GetReadableProperties() const override {
    return {{expiry_property, std::to_string(latest_)}};
  }

  const char* Name() const override { return "oncekey.ExpiryCollector"; }

 private:
  ReadExpiry read_expiry_;
  TimestampMs latest_ = 0;
  bool unreadable_ = false;
};

class ExpiryCollectorFactory : public rocksdb::TablePropertiesCollectorFactory {
 public:
  explicit ExpiryCollectorFactory(ReadExpiry read_expiry) : read_expiry_(read_expiry) {}

  rocksdb::TablePropertiesCollector* CreateTablePropertiesCollector(Context) override {
    return new ExpiryCollector(read_expiry_);
  }
  const char* Name() const override { return "oncekey.ExpiryCollectorFactory"; }

 private:
  ReadExpiry read_expiry_;
};

}  // namespace

std::shared_ptr<rocksdb::TablePropertiesCollectorFactory> collect_expiry(ReadExpiry read_expiry) {
  return std::make_shared<ExpiryCollectorFactory>(read_expiry);
}

std::optional<TimestampMs> ExpiringFiles::expiry_of(rocksdb::DB& db,
                                                    rocksdb::ColumnFamilyHandle& family,
                                                    const std::string& path) {
  const auto found = known_.find(path);
  if (found != known_.end()) return found->second;

  known_.clear();  // forgets the files that are gone
  rocksdb::TablePropertiesCollection tables;
  if (!db.GetPropertiesOfAllTables(&family, &tables).ok()) return {};
  for (const auto& [table_path, properties] : tables) {
    std::optional<TimestampMs>& expiry = known_[table_path];
    const auto& collected = properties->user_collected_properties;
    const auto property = collected.find(expiry_property);
    if (property == collected.end()) continue;
    ByteReader in(property->second);
    const auto value = static_cast<TimestampMs>(in.number());
    if (in.ok()) expiry = value;
  }
  return known_[path];
}

std::size_t ExpiringFiles::drop(rocksdb::DB& db, rocksdb::ColumnFamilyHandle& family,
                                TimestampMs now, std::size_t files_max) {
  std::size_t dropped = 0;
  for (; files_max > 0; --files_max) {
    rocksdb::ColumnFamilyMetaData meta;
    db.GetColumnFamilyMetaData(&family, &meta);
    if (meta.levels.empty() || meta.levels[0].files.empty()) break;
    // Newest first. Only the oldest may go: a newer file never uncovers an older record.
    const rocksdb::SstFileMetaData& oldest = meta.levels[0].files.back();
    const auto expiry = expiry_of(db, family, oldest.db_path + oldest.name);
    if (!expiry || now < *expiry + margin_ms) break;
    if (!db.DeleteFile(oldest.name).ok()) break;
    dropped += oldest.num_entries;
  }
  return dropped;
}

}  // namespace oncekey::store
