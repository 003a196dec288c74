// A real database whose begins and commits pass through the test's hands.
#pragma once

#include "oncekey/transaction.h"

namespace oncekey::test {

class WrappedDatabase : public Database {
 public:
  explicit WrappedDatabase(Database& real) : real_(real) {}

  void begin() override { real_.begin(); }
  void commit() override { real_.commit(); }
  void rollback() noexcept override { real_.rollback(); }
  bool in_transaction() const override { return real_.in_transaction(); }
  Transaction& transaction() override { return real_.transaction(); }

 protected:
  Database& real_;
};

}  // namespace oncekey::test
