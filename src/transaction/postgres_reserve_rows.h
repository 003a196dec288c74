// A batch of reservations as parameters of one statement, one array for each column.
#pragma once

#include <vector>

#include "oncekey/store.h"
#include "transaction/postgres_values.h"

namespace oncekey::transaction {

class ReserveRows {
 public:
  // The reservation has to stay where it is until the parameters are made.
  void add(const Reserve& reserve, Fence fence) { rows_.push_back({&reserve, fence}); }
  void append_to(PostgresParameters& parameters) const;  // of oncekey.reserve_group()
  // Of the gateway's own postgres_reserve.sql, which is told once what all agree in.
  void append_briefly_to(PostgresParameters& parameters) const;
  std::size_t size() const { return rows_.size(); }

 private:
  enum class Columns { whole, brief };
  void append(PostgresParameters& parameters, Columns columns) const;
  // How many elements a column has: one, where it may be brief and all rows have the same in it.
  template <class Get>
  std::size_t elements(Columns columns, const Get& get) const;
  template <class Get>
  void append_texts(PostgresParameters& parameters, Columns columns, const Get& get) const;
  void append_durations(PostgresParameters& parameters, Columns columns,
                        DurationMs Reserve::*member) const;

  struct Row {
    const Reserve* reserve;
    Fence fence;
  };
  std::vector<Row> rows_;
};

}  // namespace oncekey::transaction
