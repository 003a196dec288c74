// The database behind RocksEngine: opened, checked, and closed in the right order.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include <memory>
#include <string>
#include <vector>

#include "oncekey/result.h"

namespace oncekey::store {

class Database {
 public:
  // What this build writes, and the newest it can read.
  static constexpr std::uint64_t format_version = 2;

  // `env` must outlive the database; null: the machine's own files. The error is a sentence for
  // operators.
  static Result<std::unique_ptr<Database>, std::string> open(const std::string& path,
                                                             rocksdb::Env* env);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* meta() { return families_[0]; }
  rocksdb::ColumnFamilyHandle* open_work() { return families_[1]; }
  rocksdb::ColumnFamilyHandle* settled() { return families_[2]; }
  rocksdb::ColumnFamilyHandle* remembered() { return families_[3]; }
  const std::vector<rocksdb::ColumnFamilyHandle*>& families() { return families_; }

  // How often the store has been opened; 0 for a new one. Stored with the next batch.
  std::uint64_t epoch() const { return epoch_; }
  static void put_meta(rocksdb::WriteBatch& batch, std::uint64_t epoch);

 private:
  Database() = default;
  std::string check_format();  // "": good

  std::unique_ptr<rocksdb::Env> env_;  // the database's own; null when one was given
  std::unique_ptr<rocksdb::DB> db_;
  std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::uint64_t epoch_ = 0;
};

}  // namespace oncekey::store
