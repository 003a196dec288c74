// One connection to PostgreSQL through libpq, with a deadline on everything.
#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey::store {

struct PostgresError {
  enum class Kind {
    refused,  // the server said no: the statement did nothing
    retry,  // it did nothing, and the same statement may succeed at once (deadlock, serialisation)
    lost,   // no answer: it may or may not have been done, and the connection is gone
  };
  Kind kind = Kind::refused;
  std::string sqlstate;  // empty when the server said nothing
  std::string message;   // for operators; one line, without statement or parameters
};

// Parameters and results are in PostgreSQL's binary format.
class PostgresResult {
 public:
  explicit PostgresResult(PGresult* result) : result_(result) {}

  int rows() const { return PQntuples(result_.get()); }
  bool is_null(int row, int column) const { return PQgetisnull(result_.get(), row, column) == 1; }
  std::string_view bytes(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  std::int64_t integer(int row, int column) const;   // int2, int4 or int8; null: 0
  bool boolean(int row, int column) const;           // null: false
  TimestampMs timestamp(int row, int column) const;  // timestamptz; null: 0

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

// The values of one call, in order. Arrays are built row by row.
class PostgresParameters {
 public:
  void text(std::string_view value);
  void bytes(std::string_view value);
  void integer(std::int64_t value);  // int8
  void null();

  class Array {
   public:
    void text(std::string_view value) { element(value); }
    void bytes(std::string_view value) { element(value); }
    void small(std::int16_t value);    // int2
    void integer(std::int32_t value);  // int4
    void big(std::int64_t value);      // int8
    void null();
    std::size_t size() const { return count_; }

   private:
    friend class PostgresParameters;
    void element(std::string_view value);

    std::string data_;
    std::uint32_t count_ = 0;
    bool has_null_ = false;
  };
  // What the elements are, as PostgreSQL numbers its types.
  enum class Element : std::uint32_t { bytea = 17, int8 = 20, int2 = 21, int4 = 23, text = 25 };
  void array(const Array& elements, Element type);

 private:
  friend class PostgresConnection;
  void value(std::string bytes, bool is_null = false);

  std::vector<std::string> values_;
  std::vector<bool> nulls_;
};

class PostgresConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // A URL as libpq reads it. Tries the hosts in their order and takes the first that accepts
  // writes; each gets a share of the time that is left, so a frozen one does not use up the
  // others'.
  static Result<std::unique_ptr<PostgresConnection>, PostgresError> connect(const std::string& url,
                                                                            Deadline deadline);

  // Any number of statements in one text, without parameters; the last one's result. Its values
  // are text: only bytes() makes sense of them.
  Result<PostgresResult, PostgresError> run(const std::string& sql, Deadline deadline);

  // One statement; prepared under `name` the first time this connection sees it.
  Result<PostgresResult, PostgresError> call(const std::string& name, const std::string& sql,
                                             const PostgresParameters& parameters,
                                             Deadline deadline);

  int server_version() const { return PQserverVersion(connection_.get()); }  // 150004: 15.4
  // Statements sent so far.
  std::uint64_t statements() const { return statements_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit PostgresConnection(PGconn* connection) : connection_(connection) {}

  std::optional<PostgresError> finish_connecting(Deadline deadline);
  Result<PostgresResult, PostgresError> answer(int sent, Deadline deadline);
  std::optional<PostgresError> flush(Deadline deadline);
  std::optional<PostgresError> wait_until_readable(Deadline deadline);
  PostgresError lost(std::string_view why) const;

  std::unique_ptr<PGconn, Finish> connection_;
  std::vector<std::string> prepared_;
  std::uint64_t statements_ = 0;
};

}  // namespace oncekey::store
