#include "store/rocksdb_database.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "store/bytes.h"
#include "store/rocksdb_options.h"
#include "store/spare_logs.h"

namespace oncekey::store {
namespace {

constexpr const char* format_key = "format";
constexpr const char* epoch_key = "epoch";

std::string explain(const std::string& path, const rocksdb::Status& status) {
  const std::string text = status.ToString();
  if (text.find("lock hold by current process") != std::string::npos ||
      text.find("While lock file") != std::string::npos) {
    return "the store " + path + " is in use by another process";
  }
  if (text.find("Permission denied") != std::string::npos) {
    return "no permission to read and write the store " + path + " (" + text + ")";
  }
  if (text.find("Column families not opened") != std::string::npos) {
    return "the store " + path + " was written by a newer version of Oncekey (" + text + ")";
  }
  return "cannot open the store " + path + ": " + text;
}

std::vector<rocksdb::ColumnFamilyDescriptor> families_of_this_build() {
  return {{rocksdb::kDefaultColumnFamilyName, meta_options()},
          {family::open, open_options()},
          {family::settled, settled_options()},
          {family::remembered, remembered_options()}};
}

// Empty when the key is absent.
rocksdb::Status read_number(rocksdb::DB& db, const char* key,
                            std::optional<std::uint64_t>& number) {
  std::string value;
  const rocksdb::Status status = db.Get(rocksdb::ReadOptions(), key, &value);
  if (status.IsNotFound()) return rocksdb::Status::OK();
  if (!status.ok()) return status;
  ByteReader in(value);
  number = in.number();
  return in.ok() ? status : rocksdb::Status::Corruption("unreadable number", key);
}

}  // namespace

Result<std::unique_ptr<Database>, std::string> Database::open(const std::string& path,
                                                              rocksdb::Env* env) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return "cannot create the store's folder " + path + ": " + error.message();

  rocksdb::DBOptions options = database_options();
  std::unique_ptr<Database> database(new Database);
  if (env == nullptr) {
    auto files = std::make_shared<SpareLogs>(rocksdb::FileSystem::Default(),
                                             SpareLogs::Preparation::background);
    files->prepare(path);
    database->env_ = rocksdb::NewCompositeEnv(files);
    env = database->env_.get();
  }
  options.env = env;
  rocksdb::DB* db = nullptr;
  const rocksdb::Status status =
      rocksdb::DB::Open(options, path, families_of_this_build(), &database->families_, &db);
  if (!status.ok()) return explain(path, status);
  database->db_.reset(db);
  std::string wrong = database->check_format();
  if (!wrong.empty()) return "the store " + path + " " + wrong;
  return database;
}

std::string Database::check_format() {
  std::optional<std::uint64_t> format;
  std::optional<std::uint64_t> epoch;
  rocksdb::Status status = read_number(*db_, format_key, format);
  if (status.ok()) status = read_number(*db_, epoch_key, epoch);
  if (!status.ok()) return "cannot be read: " + status.ToString();
  if (format && *format > format_version) {
    return "was written by a newer version of Oncekey (format " + std::to_string(*format) +
           "; this build reads up to " + std::to_string(format_version) + ")";
  }
  epoch_ = epoch.value_or(0);
  return "";
}

void Database::put_meta(rocksdb::WriteBatch& batch, std::uint64_t epoch) {
  std::string value;
  ByteWriter(value).number(format_version);
  batch.Put(format_key, value);
  value.clear();
  ByteWriter(value).number(epoch);
  batch.Put(epoch_key, value);
}

Database::~Database() {
  if (db_ == nullptr) return;
  for (rocksdb::ColumnFamilyHandle* handle : families_) db_->DestroyColumnFamilyHandle(handle);
  db_->Close();
}

}  // namespace oncekey::store
