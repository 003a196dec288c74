// Statements on a connection that belongs to somebody else. What fails is thrown as DatabaseError.
#pragma once

#include <libpq-fe.h>

#include <string>

#include "oncekey/transaction.h"
#include "transaction/postgres_values.h"

namespace oncekey::transaction {

// The name must be unlike any that the connection's owner might give to statements of his own.
struct PostgresStatement {
  const char* name;
  const char* sql;
};

class PostgresStatements {
 public:
  explicit PostgresStatements(PGconn* connection);

  // Without parameters; returns what the server says it did, such as "COMMIT".
  std::string run(const char* sql);

  // In an open transaction, and in one round trip; prepared the first time that the connection
  // sees it, also through another object.
  PostgresResult call(const PostgresStatement& statement, const PostgresParameters& parameters);

  // Throws unless a transaction is open in which statements can be run.
  void check_open() const;
  // As libpq has it, without asking the server. Lost connections throw.
  PGTransactionStatusType status() const;

  // What is remembered with the connection, by every object on it, until it is reset.
  bool schema_checked() const;
  void set_schema_checked();

 private:
  PostgresResult checked(PGresult* result);
  void prepare(const PostgresStatement& statement);

  PGconn* connection_;
};

}  // namespace oncekey::transaction
