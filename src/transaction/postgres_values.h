// Parameters and results of PostgreSQL statements, in its binary format.
#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"

namespace oncekey::transaction {

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
  enum class Element : std::uint32_t {
    bytea = 17,
    int8 = 20,
    int2 = 21,
    int4 = 23,
    text = 25,
    tid = 27,
    timestamptz = 1184
  };
  void array(const Array& elements, Element type);

  // As libpq takes them; valid until the next change.
  struct View {
    std::vector<const char*> values;
    std::vector<int> lengths;
    std::vector<int> formats;
    int count() const { return static_cast<int>(values.size()); }
  };
  View view() const;

 private:
  void value(std::string bytes, bool is_null = false);

  std::vector<std::string> values_;
  std::vector<bool> nulls_;
};

}  // namespace oncekey::transaction
