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
#include "store/postgres_hosts.h"
#include "transaction/postgres_values.h"

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

// As a sentence that says whose error it is.
std::string reason_of(const PostgresError& error);
// The server itself is fine, but this session will not work any more: a standby now, shutting down,
// or a prepared statement that it does not know.
bool needs_another_session(const PostgresError& error);
// Somebody held a row for too long.
bool waited_for_a_lock(const PostgresError& error);

// What to do where one connection has met the session of another.
inline constexpr std::string_view how_to_pool = "use session mode, or connect to the server itself";

using transaction::PostgresParameters;
using transaction::PostgresResult;

class PostgresConnection {
 public:
  using Deadline = std::chrono::steady_clock::time_point;

  // Tries the hosts in their order, each at its addresses, and takes the first that accepts writes;
  // each gets a share of the time that is left, so a frozen one does not use up the others'.
  static Result<std::unique_ptr<PostgresConnection>, PostgresError> connect(PostgresHosts& hosts,
                                                                            Deadline deadline);
  // A URL as libpq reads it.
  static Result<std::unique_ptr<PostgresConnection>, PostgresError> connect(const std::string& url,
                                                                            Deadline deadline);

  // Any number of statements in one text, without parameters; the last one's result. Its values
  // are text: only bytes() makes sense of them.
  Result<PostgresResult, PostgresError> run(const std::string& sql, Deadline deadline);

  // One statement; prepared under `name` the first time this connection sees it. What
  // is committed with a warning() counts as lost.
  Result<PostgresResult, PostgresError> call(const std::string& name, const std::string& sql,
                                             const PostgresParameters& parameters,
                                             Deadline deadline);

  // For LISTEN: becomes readable when something arrives; then, or after a call, notified() says
  // whether a notification was among it.
  int socket() const { return PQsocket(connection_.get()); }
  Result<bool, PostgresError> notified();

  // That what was asked for last is committed, and perhaps on no standby; mostly empty.
  const std::string& warning() const { return warning_; }
  std::string server_encoding() const;  // of the database, as UTF8
  int server_version() const { return PQserverVersion(connection_.get()); }  // 150004: 15.4
  // Statements sent so far.
  std::uint64_t statements() const { return statements_; }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  explicit PostgresConnection(PGconn* connection) : connection_(connection) {}

  using Opened = Result<std::unique_ptr<PostgresConnection>, PostgresError>;
  static Opened connect_to(const PostgresHosts::Parameters& place, Deadline deadline);

  std::optional<PostgresError> finish_connecting(Deadline deadline);
  Result<PostgresResult, PostgresError> answer(int sent, Deadline deadline);
  std::optional<PostgresError> flush(Deadline deadline);
  std::optional<PostgresError> wait_until_readable(Deadline deadline);
  PostgresError lost(std::string_view why) const;

  std::unique_ptr<PGconn, Finish> connection_;
  std::vector<std::string> prepared_;
  std::string warning_;
  std::uint64_t statements_ = 0;
};

}  // namespace oncekey::store
