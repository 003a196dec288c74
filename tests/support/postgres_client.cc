#include "support/postgres_client.h"

#include <libpq-fe.h>

namespace oncekey::test {
namespace {

std::string text_of(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text;
}

}  // namespace

PostgresClient::PostgresClient(const std::string& url)
    : connection_(::PQconnectdb(url.c_str()), ::PQfinish) {
  ::PQsetNoticeProcessor(
      connection_.get(), [](void*, const char*) {}, nullptr);
  if (::PQstatus(connection_.get()) == CONNECTION_OK) return;
  throw PostgresError(url + ": " + text_of(::PQerrorMessage(connection_.get())), "");
}

std::string PostgresClient::query(const std::string& sql) {
  std::unique_ptr<PGresult, void (*)(PGresult*)> result(::PQexec(connection_.get(), sql.c_str()),
                                                        ::PQclear);
  ExecStatusType status = ::PQresultStatus(result.get());
  if (status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY) return "";
  if (status == PGRES_TUPLES_OK) {
    bool has_value = ::PQntuples(result.get()) > 0 && ::PQnfields(result.get()) > 0;
    return has_value ? ::PQgetvalue(result.get(), 0, 0) : "";
  }
  const char* sqlstate = ::PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
  std::string message = text_of(::PQerrorMessage(connection_.get()));
  throw PostgresError(message + " in: " + sql, sqlstate == nullptr ? "" : sqlstate);
}

int PostgresClient::backend() const {
  return ::PQbackendPID(connection_.get());
}

bool accepts_connections(const std::string& url) {
  return ::PQping(url.c_str()) == PQPING_OK;
}

}  // namespace oncekey::test
