// The records of an SQLite database, inside the transaction that is open on the connection. What
// fails is thrown as DatabaseError.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "boundary/execution.h"
#include "transaction/fence_source.h"
#include "transaction/sqlite_statement.h"

namespace oncekey::transaction {

class SqliteRecords : public Records {
 public:
  explicit SqliteRecords(sqlite3* connection);

  Result<const Record*, std::string> find(const RecordId& id, TimestampMs now) override;
  // `record` has the id that was last found, or not found.
  void store(Record record) override;
  void extend(Record record) override;
  void remove(const Record& record) override;
  Fence next_fence() override { return fences_.next(); }

  // A workflow whose lease ran out is not among them: it is resumed.
  std::vector<RecordId> leases_over(TimestampMs now, std::size_t limit) override;
  // A page looks at a bounded number of records, so it can be shorter than asked for where most of
  // what is stored does not match.
  Result<std::vector<Record>, std::string> list(const List& request, TimestampMs now) override;
  std::size_t reap(TimestampMs now, std::size_t limit) override;

  // Removes the record that was last found.
  void erase_found();
  // in_progress, except workflows.
  std::vector<RecordId> held();
  struct Counts {
    std::uint64_t in_progress = 0;
    std::uint64_t failed_retryable = 0;
    std::uint64_t unknown = 0;
    std::uint64_t settled_estimate = 0;
  };
  Counts count();

 private:
  void insert(const Record& record);
  void update(const Record& record);
  Statement& listing(const List& request);

  sqlite3* connection_;
  FenceSource fences_;
  Record found_;
  RecordId asked_for_;
  std::int64_t found_row_ = 0;  // 0: there was none

  Statement find_;
  Statement insert_;
  Statement update_;
  Statement extend_;
  Statement erase_;
  Statement forget_workflow_;
  Statement leases_over_;
  Statement held_;
  Statement due_;
  Statement bury_;
  Statement count_open_;
  Statement count_rows_;
  std::array<std::unique_ptr<Statement>, 12> listings_;  // by state, with a scope and without
};

}  // namespace oncekey::transaction
