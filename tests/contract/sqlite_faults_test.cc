// SQLite on files that fail.
#include <sqlite3.h>

#include <set>

#include "fault_story.h"
#include "oncekey/transaction.h"
#include "sqlite_file.h"
#include "store/sqlite.h"
#include "store/sqlite_migration.h"

namespace oncekey::store {
namespace {

// What fails next, and whether it has.
struct Plan {
  Fault fault = Fault::full_disk;
  int steps_left = 0;  // 0: nothing is armed
  bool lasting = false;
  bool fired = false;

  bool fails(bool is_sync) {
    if (steps_left == 0 || is_sync != (fault == Fault::broken_sync)) return false;
    if (steps_left > 1) {
      --steps_left;
      return false;
    }
    fired = true;
    if (!lasting) steps_left = 0;
    return true;
  }
};
Plan plan;  // SQLite's files have no room for a pointer of ours

// A file of the real file system behind ours; its memory follows ours.
struct FaultyFile {
  sqlite3_file base;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

template <auto Method, class... Arguments>
int forward(sqlite3_file* file, Arguments... arguments) {
  sqlite3_file* const real = reinterpret_cast<FaultyFile*>(file)->real();
  return (real->pMethods->*Method)(real, arguments...);
}

int faulty_write(sqlite3_file* file, const void* bytes, int size, sqlite3_int64 offset) {
  if (!plan.fails(false)) return forward<&sqlite3_io_methods::xWrite>(file, bytes, size, offset);
  if (plan.fault == Fault::broken_write) return SQLITE_IOERR_WRITE;
  forward<&sqlite3_io_methods::xWrite>(file, bytes, size / 2, offset);
  return SQLITE_FULL;
}

int faulty_sync(sqlite3_file* file, int flags) {
  if (plan.fails(true)) return SQLITE_IOERR_FSYNC;
  return forward<&sqlite3_io_methods::xSync>(file, flags);
}

// Version 1: no shared memory, so what opens a database in WAL mode must have it alone.
const sqlite3_io_methods faulty_methods = {
    .iVersion = 1,
    .xClose = forward<&sqlite3_io_methods::xClose>,
    .xRead = forward<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = faulty_write,
    .xTruncate = forward<&sqlite3_io_methods::xTruncate, sqlite3_int64>,
    .xSync = faulty_sync,
    .xFileSize = forward<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = forward<&sqlite3_io_methods::xLock, int>,
    .xUnlock = forward<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = forward<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = forward<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = forward<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = forward<&sqlite3_io_methods::xDeviceCharacteristics>,
};

int faulty_open(sqlite3_vfs* files, const char* name, sqlite3_file* file, int flags, int* out) {
  auto* const real_files = static_cast<sqlite3_vfs*>(files->pAppData);
  auto* const faulty = reinterpret_cast<FaultyFile*>(file);
  faulty->base.pMethods = nullptr;
  const int code = real_files->xOpen(real_files, name, faulty->real(), flags, out);
  if (code == SQLITE_OK) faulty->base.pMethods = &faulty_methods;
  return code;
}

// Deleting the journal is what commits. When only the sync of its folder fails, the commit is
// reported as failed and is there all the same.
int faulty_delete(sqlite3_vfs* files, const char* name, int sync_folder) {
  auto* const real_files = static_cast<sqlite3_vfs*>(files->pAppData);
  if (sync_folder == 0 || !plan.fails(true)) {
    return real_files->xDelete(real_files, name, sync_folder);
  }
  real_files->xDelete(real_files, name, 0);
  return SQLITE_IOERR_DIR_FSYNC;
}

// While it lives, files that are opened can fail.
class FaultySqlite : public FaultyStore {
 public:
  FaultySqlite() : files_(*real_) {
    plan = {};
    files_.zName = "faulty";
    files_.szOsFile = static_cast<int>(sizeof(FaultyFile)) + real_->szOsFile;
    files_.pAppData = real_;
    files_.xOpen = faulty_open;
    files_.xDelete = faulty_delete;
    sqlite3_vfs_register(&files_, 1);
  }
  ~FaultySqlite() override {
    sqlite3_vfs_unregister(&files_);
    sqlite3_vfs_register(real_, 1);
  }

  Result<std::unique_ptr<Engine>, std::string> open(const std::string& folder,
                                                    std::function<TimestampMs()> clock) override {
    return SqliteEngine::open({.path = folder + "/records.db", .clock = std::move(clock)});
  }
  void arm(Fault fault, int step, bool lasting) override { plan = {fault, step, lasting, false}; }
  void heal() override { plan.steps_left = 0; }
  bool fired() override { return plan.fired; }

 private:
  sqlite3_vfs* const real_ = sqlite3_vfs_find("unix");
  sqlite3_vfs files_;
};

std::unique_ptr<FaultyStore> faulty_sqlite() {
  return std::make_unique<FaultySqlite>();
}

// A service's own database, whose rollback journal fails.
class FaultySharedSqlite : public FaultySqlite {
 public:
  Result<std::unique_ptr<Engine>, std::string> open(const std::string& folder,
                                                    std::function<TimestampMs()>) override {
    const std::string path = folder + "/service.db";
    const auto migrated = migrate_sqlite(path, false);
    if (!migrated) return migrated.error();
    return SqliteEngine::open({.path = path, .shared = true});
  }
  bool belongs_to_one() const override { return false; }
};

std::unique_ptr<FaultyStore> faulty_shared_sqlite() {
  return std::make_unique<FaultySharedSqlite>();
}

class SqliteFaults : public ::testing::TestWithParam<FaultCase> {};
INSTANTIATE_TEST_SUITE_P(Sqlite, SqliteFaults, ::testing::ValuesIn(all_faults), fault_name);

TEST_P(SqliteFaults, AtEveryStepNothingAcknowledgedIsLostAndNothingRefusedRuns) {
  fail_at_every_step(GetParam(), faulty_sqlite);
}

TEST_P(SqliteFaults, NeitherInADatabaseThatIsShared) {
  fail_at_every_step(GetParam(), faulty_shared_sqlite);
}

class LastingSqliteFaults : public ::testing::TestWithParam<FaultCase> {};
INSTANTIATE_TEST_SUITE_P(Sqlite, LastingSqliteFaults, ::testing::ValuesIn(lasting_faults()),
                         fault_name);

TEST_P(LastingSqliteFaults, EndingWhileBrokenLosesNothingAcknowledged) {
  end_while_broken_at_every_step(GetParam(), faulty_sqlite);
}

TEST(BrokenSqlite, RefusesClearlyServesReplaysAndResumesWhenSpaceReturns) {
  FaultySqlite store;
  Folder folder;
  TimestampMs now = 1'700'000'000'000;
  auto engine = store.open(folder.path(), [&] { return now; });
  ASSERT_TRUE(engine) << engine.error();
  const auto reserve = [&](const std::string& key) {
    return apply_to(**engine, reserve_of(key), now);
  };
  const Fence fence = std::get<Execute>(reserve("a")).fence;
  apply_to(**engine, settle_of("a", fence, answered()), now);
  store.arm(Fault::full_disk, 1, true);
  const auto refused = reserve("b");
  ASSERT_TRUE(std::holds_alternative<Unavailable>(refused));
  EXPECT_NE(std::get<Unavailable>(refused).reason.find("full"), std::string::npos)
      << std::get<Unavailable>(refused).reason;
  EXPECT_TRUE(std::holds_alternative<Replay>(reserve("a")));
  // In one batch with what cannot be written.
  Operation fresh(reserve_of("c"));
  Operation replay(reserve_of("a"));
  Operation* const batch[] = {&fresh, &replay};
  (*engine)->apply(batch, now);
  EXPECT_TRUE(std::holds_alternative<Unavailable>(std::get<Reserve>(fresh).outcome));
  EXPECT_TRUE(std::holds_alternative<Replay>(std::get<Reserve>(replay).outcome));
  store.heal();
  EXPECT_TRUE(std::holds_alternative<Execute>(reserve("b")));
  EXPECT_TRUE(std::holds_alternative<Execute>(reserve("c")));
  engine->reset();
}

TEST(BrokenSqlite, CommitOfAServiceOnAFailingDiskIsInDoubt) {
  FaultySqlite store;
  Folder folder;
  SqliteClient connection(folder.path() + "/service.db");
  connection.run("PRAGMA synchronous = EXTRA");
  oncekey::migrate(connection.handle());
  const auto database = oncekey::join(connection.handle());
  std::set<bool> found;  // was there after all
  for (int step = 1;; ++step) {
    const std::string key = std::to_string(step);
    database->begin();
    database->transaction().reserve(reserve_of(key));
    store.arm(Fault::broken_sync, step, false);
    try {
      database->commit();
      EXPECT_FALSE(store.fired());
      break;
    } catch (const DatabaseError& error) {
      EXPECT_EQ(error.kind(), DatabaseError::Kind::lost) << error.what();
    }
    store.heal();
    EXPECT_FALSE(database->in_transaction());
    database->begin();
    found.insert(database->transaction().find({"tenant", key}).has_value());
    database->rollback();
  }
  EXPECT_EQ(found, (std::set<bool>{false, true}));
}

}  // namespace
}  // namespace oncekey::store
