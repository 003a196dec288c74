#include "transaction/postgres_statements.h"

#include <libpq-events.h>

#include <set>
#include <string_view>

#include "transaction/postgres_text.h"

namespace oncekey::transaction {
namespace {

using Kind = DatabaseError::Kind;

struct Remembered {
  std::set<std::string, std::less<>> prepared;
  bool schema_checked = false;
};

// libpq calls this for everything that happens to the connection: what is remembered of it lives
// and is forgotten with it.
int on_event(PGEventId event, void* information, void*) {
  if (event == PGEVT_CONNRESET) {
    PGconn* const connection = static_cast<PGEventConnReset*>(information)->conn;
    auto* remembered = static_cast<Remembered*>(PQinstanceData(connection, on_event));
    if (remembered != nullptr) *remembered = {};
  } else if (event == PGEVT_CONNDESTROY) {
    PGconn* const connection = static_cast<PGEventConnDestroy*>(information)->conn;
    delete static_cast<Remembered*>(PQinstanceData(connection, on_event));
  }
  return 1;
}

Remembered& remembered_of(PGconn* connection) {
  return *static_cast<Remembered*>(PQinstanceData(connection, on_event));
}

Kind kind_of(std::string_view sqlstate) {
  const bool again = sqlstate == "40001"      // serialisation
                     || sqlstate == "40P01"   // deadlock
                     || sqlstate == "55P03"   // lock_timeout
                     || sqlstate == "26000";  // somebody dropped our prepared statement
  return again ? Kind::again : Kind::failed;
}

std::string hint_for(std::string_view sqlstate) {
  if (sqlstate == "42501") {
    return "; grant this role what docs/sql.md lists under \"Privileges of the library\"";
  }
  return "";
}

[[noreturn]] void throw_lost(const PGconn* connection) {
  const std::string said = one_line(PQerrorMessage(connection));
  throw DatabaseError(Kind::lost, "PostgreSQL: the connection is lost" +
                                      (said.empty() ? std::string() : ": " + said));
}

[[noreturn]] void throw_error(PGconn* connection, const PGresult* result) {
  if (PQstatus(connection) == CONNECTION_BAD) throw_lost(connection);
  const char* const state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* const primary = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  const std::string sqlstate = state != nullptr ? state : "";
  const std::string message = one_line(primary != nullptr ? primary : PQerrorMessage(connection));
  constexpr std::string_view refusal = "oncekey: ";  // of oncekey.refuse()
  if (sqlstate == "22023" && message.starts_with(refusal)) {
    throw Misuse(message.substr(refusal.size()));
  }
  if (sqlstate == "26000") remembered_of(connection).prepared.clear();
  throw DatabaseError(kind_of(sqlstate), "PostgreSQL: " + message +
                                             (sqlstate.empty() ? "" : " (" + sqlstate + ")") +
                                             hint_for(sqlstate));
}

}  // namespace

PostgresStatements::PostgresStatements(PGconn* connection) : connection_(connection) {
  if (PQinstanceData(connection, on_event) != nullptr) return;
  auto remembered = std::make_unique<Remembered>();
  PQregisterEventProc(connection, on_event, "oncekey", nullptr);
  if (PQsetInstanceData(connection, on_event, remembered.get()) == 0) throw std::bad_alloc();
  remembered.release();
}

PGTransactionStatusType PostgresStatements::status() const {
  const PGTransactionStatusType status = PQtransactionStatus(connection_);
  if (status == PQTRANS_UNKNOWN) throw_lost(connection_);
  return status;
}

void PostgresStatements::check_open() const {
  switch (status()) {
    case PQTRANS_INTRANS:
      return;
    case PQTRANS_INERROR:
      throw DatabaseError(Kind::failed,
                          "PostgreSQL: an earlier statement of this transaction failed; it has to"
                          " be rolled back");
    case PQTRANS_ACTIVE:
      throw Misuse(
          "a command is still running on this PostgreSQL connection: read all of its results"
          " first");
    case PQTRANS_IDLE:
    case PQTRANS_UNKNOWN:
      break;
  }
  throw Misuse(
      "no transaction is open on this PostgreSQL connection: it was not begun, or has been"
      " committed or rolled back");
}

PostgresResult PostgresStatements::checked(PGresult* raw) {
  PostgresResult result(raw);
  const ExecStatusType status = PQresultStatus(raw);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) throw_error(connection_, raw);
  return result;
}

std::string PostgresStatements::run(const char* sql) {
  PGresult* const result = PQexec(connection_, sql);
  const PostgresResult kept = checked(result);
  return PQcmdStatus(result);
}

void PostgresStatements::prepare(const PostgresStatement& statement) {
  auto& prepared = remembered_of(connection_).prepared;
  if (prepared.contains(std::string_view(statement.name))) return;
  checked(PQprepare(connection_, statement.name, statement.sql, 0, nullptr));
  prepared.insert(statement.name);
}

PostgresResult PostgresStatements::call(const PostgresStatement& statement,
                                        const PostgresParameters& parameters) {
  prepare(statement);
  const PostgresParameters::View view = parameters.view();
  return checked(PQexecPrepared(connection_, statement.name, view.count(), view.values.data(),
                                view.lengths.data(), view.formats.data(), 1));
}

bool PostgresStatements::schema_checked() const {
  return remembered_of(connection_).schema_checked;
}

void PostgresStatements::set_schema_checked() {
  remembered_of(connection_).schema_checked = true;
}

}  // namespace oncekey::transaction
