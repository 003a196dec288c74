// What is particular to SQLite: who may have the file, WAL mode, and workflows beside the gateway.
#include <filesystem>

#include "contract.h"
#include "oncekey/transaction.h"
#include "outbox/sqlite_queue.h"
#include "sqlite_file.h"
#include "store/sqlite.h"
#include "store/sqlite_migration.h"
#include "transaction/sqlite_database.h"

namespace oncekey::store {
namespace {

class SqliteTest : public ::testing::Test {
 protected:
  std::string error(const std::string& url) {
    auto store = open_store(*parse_store_url(url), {.clock = [this] { return now_; }});
    return store ? "opened" : store.error();
  }
  void make_service() {
    SqliteClient service(path_);
    oncekey::migrate(service);
  }
  // A workflow at its first phase, whose lease is over.
  Fence stall_workflow(const std::string& key) {
    SqliteClient service(path_);
    oncekey::migrate(service);
    const auto database = transaction::join_sqlite(service, [this] { return now_; });
    database->begin();
    Transaction& t = database->transaction();
    const Fence fence = std::get<Execute>(t.reserve(reserve_of(key))).fence;
    t.begin_workflow({"tenant", key}, fence, "pay", "{}");
    database->commit();
    now_ += lease_ms;
    return fence;
  }

  Folder folder_;
  std::string path_ = folder_.path() + "/service.db";
  std::string own_ = "sqlite:" + path_;
  std::string shared_ = "sqlite:" + path_ + "?shared=1";
  TimestampMs now_ = 1'700'000'000'000;
};

TEST_F(SqliteTest, FileBelongsToOneProcess) {
  const auto first = open_or_fail(own_, [this] { return now_; });
  ASSERT_NE(first, nullptr);
  EXPECT_NE(error(own_).find("another process uses this database"), std::string::npos)
      << error(own_);
  EXPECT_NE(error(shared_).find("another process has this database to itself"), std::string::npos)
      << error(shared_);
}

TEST_F(SqliteTest, FileThatAServiceIsWritingToIsNotTaken) {
  SqliteClient service(path_);
  oncekey::migrate(service);
  service.run("BEGIN IMMEDIATE");
  EXPECT_NE(error(own_).find("another process uses this database"), std::string::npos)
      << error(own_);
  service.run("COMMIT");
}

TEST_F(SqliteTest, FileInAFolderThatIsNotThereIsAnError) {
  EXPECT_NE(error("sqlite:" + folder_.path() + "/none/x.db").find("does its folder exist"),
            std::string::npos);
}

TEST_F(SqliteTest, SharedDatabaseMustBeThereAndMigrated) {
  EXPECT_NE(error(shared_).find("unable to open database file"), std::string::npos)
      << error(shared_);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "nothing is made by mistake";
  SqliteClient(path_).run("CREATE TABLE payments (id INTEGER PRIMARY KEY)");
  EXPECT_NE(error(shared_).find("oncekey migrate"), std::string::npos) << error(shared_);
  make_service();
  EXPECT_EQ(error(shared_), "opened");
}

TEST_F(SqliteTest, SharedDatabaseInWalModeIsRefusedWhileSqliteCouldDamageIt) {
  make_service();
  SqliteClient service(path_);
  EXPECT_EQ(service.query("PRAGMA journal_mode = WAL"), "wal");
  const auto queue = outbox::open_sqlite_queue(path_);
  if (wal_can_be_shared()) {
    EXPECT_EQ(error(shared_), "opened");
    EXPECT_TRUE(queue);
    return;
  }
  for (const std::string& message :
       {error(shared_), queue ? "opened" : queue.error(), sqlite_facts(path_).error()}) {
    EXPECT_NE(message.find("PRAGMA journal_mode=TRUNCATE"), std::string::npos) << message;
  }
  EXPECT_EQ(service.query("PRAGMA journal_mode = TRUNCATE"), "truncate");
  EXPECT_EQ(error(shared_), "opened");
  EXPECT_EQ(service.query("PRAGMA journal_mode"), "truncate") << "it was changed";
}

TEST_F(SqliteTest, WorkflowIsNeitherSweptNorOrphaned) {
  stall_workflow("workflow");
  for (const std::string& url : {shared_, own_}) {
    const auto engine = open_or_fail(url, [this] { return now_; });
    ASSERT_NE(engine, nullptr);
    EXPECT_TRUE(engine->take_orphans().empty());
    EXPECT_TRUE(std::get<std::vector<RecordId>>(apply_to(*engine, Sweep{}, now_)).empty());
    Get get;
    get.id = {"tenant", "workflow"};
    const auto found = std::get<std::optional<Record>>(apply_to(*engine, std::move(get), now_));
    EXPECT_EQ(found->state, State::in_progress);
  }
}

TEST_F(SqliteTest, WorkflowEndsWithItsRecordAlsoWhenTheGatewaySettlesIt) {
  const Fence fence = stall_workflow("workflow");
  {
    const auto engine = open_or_fail(shared_, [this] { return now_; });
    const auto outcome = apply_to(*engine, settle_of("workflow", fence, answered()), now_);
    EXPECT_TRUE(std::holds_alternative<Settled>(outcome));
  }
  SqliteClient service(path_);
  EXPECT_EQ(service.count("oncekey_workflows"), 0);
}

TEST_F(SqliteTest, FailedWorkflowIsReapedWithItsRecord) {
  const Fence fence = stall_workflow("workflow");
  {
    const auto engine = open_or_fail(shared_, [this] { return now_; });
    apply_to(*engine, settle_of("workflow", fence, SettleFailed{"no"}), now_);
    now_ += retention_ms;
    EXPECT_EQ(std::get<std::size_t>(apply_to(*engine, Reap{}, now_)), 1u);
  }
  SqliteClient service(path_);
  EXPECT_EQ(service.count("oncekey_workflows") + service.count("oncekey_records"), 0);
}

TEST_F(SqliteTest, BatchWaitsForTheServiceAndIsRefusedWhenThatTakesTooLong) {
  make_service();
  auto engine = SqliteEngine::open({.path = path_, .shared = true, .patience_ms = 1});
  ASSERT_TRUE(engine) << engine.error();
  SqliteClient service(path_);
  service.run("BEGIN IMMEDIATE");
  const auto refused = apply_to(**engine, reserve_of("a"), now_);
  EXPECT_NE(std::get<Unavailable>(refused).reason.find("locked"), std::string::npos);
  service.run("COMMIT");
  EXPECT_TRUE(std::holds_alternative<Execute>(apply_to(**engine, reserve_of("a"), now_)));
}

TEST_F(SqliteTest, FirstToNameAValueDecides) {
  const auto agree = [&](const std::string& value) {
    return *agree_on(*parse_store_url(own_), "secret", value, {.clock = [this] { return now_; }});
  };
  EXPECT_EQ(agree("first"), "first");
  EXPECT_EQ(agree("second"), "first");
}

TEST_F(SqliteTest, MigrationIsPlannedAndDoneOnce) {
  make_service();
  const std::string fresh = folder_.path() + "/fresh.db";
  EXPECT_FALSE(migrate_sqlite(fresh, true)) << "a plan makes no file";
  const auto first = migrate_sqlite(fresh, false);
  ASSERT_TRUE(first) << first.error();
  EXPECT_EQ(first->version_before, 0);
  EXPECT_EQ(first->applied.size(), static_cast<std::size_t>(first->version_after));
  EXPECT_TRUE(migrate_sqlite(fresh, false)->applied.empty());
  EXPECT_TRUE(migrate_sqlite(path_, true)->applied.empty());
  EXPECT_EQ(error(own_), "opened") << "which leaves it in WAL mode";
  const auto again = migrate_sqlite(path_, false);
  ASSERT_TRUE(again) << again.error();
  EXPECT_TRUE(again->applied.empty());
}

}  // namespace
}  // namespace oncekey::store
