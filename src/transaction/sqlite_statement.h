// SQLite statements that are prepared once for a connection and used many times. What fails is
// thrown as DatabaseError.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "oncekey/transaction.h"

namespace oncekey::transaction {

// `doing` is what was attempted: "cannot commit".
[[noreturn]] void throw_sqlite(sqlite3* connection, int code, std::string_view doing);

// For statements that are run once; several may be separated by semicolons.
void run_sqlite(sqlite3* connection, const std::string& sql);

struct Blob {
  std::string_view bytes;
};

class Statement {
 public:
  Statement(sqlite3* connection, std::string sql) : connection_(connection), sql_(std::move(sql)) {}
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // A statement being read. Views into a row are valid until the next row; when this ends, the
  // statement can be used again.
  class Rows {
   public:
    explicit Rows(Statement& statement) : statement_(statement) {}
    ~Rows() { sqlite3_reset(statement_.statement_); }
    Rows(const Rows&) = delete;
    Rows& operator=(const Rows&) = delete;

    bool next();  // false: there are no more
    std::int64_t number(int column) const;
    std::string_view bytes(int column) const;  // of a text or a blob
    std::string text(int column) const { return std::string(bytes(column)); }
    bool is_null(int column) const;

   private:
    Statement& statement_;
  };

  // The arguments take the places of ?1, ?2, … and must outlive what is returned.
  template <class... Arguments>
  [[nodiscard]] Rows rows(const Arguments&... arguments) {
    prepare();
    int place = 0;
    (bind(++place, arguments), ...);
    return Rows(*this);
  }

  // For statements without rows. Returns how many rows were changed.
  template <class... Arguments>
  int run(const Arguments&... arguments) {
    Rows running = rows(arguments...);
    while (running.next()) {
    }
    return sqlite3_changes(connection_);
  }

 private:
  void prepare();
  void bind(int place, std::int64_t value);
  void bind(int place, std::string_view text);
  void bind(int place, const Blob& blob);
  void bind(int place, std::nullptr_t);
  void check(int code);

  sqlite3* connection_;
  std::string sql_;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace oncekey::transaction
