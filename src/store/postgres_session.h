// A connection that comes back: connects when there is none, prepares the session, and makes sure
// that whatever an earlier, lost session was still doing has ended.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "oncekey/result.h"
#include "store/postgres_connection.h"

namespace oncekey::store {

// A reservation whose caller was told that it failed, while the server may have made it.
struct InDoubt {
  std::string scope;  // as PostgreSQL's text
  std::string key;
  Fence fence = 0;
};

class PostgresSession {
 public:
  using Deadline = PostgresConnection::Deadline;

  PostgresSession(std::string url, DurationMs timeout_ms, LookUp look_up = look_up_by_system);

  // The connection, or why there is none. While the server is away, waits and tries again until the
  // deadline. Before a new connection is given out, reservations in doubt have been withdrawn, but
  // for those that somebody holds.
  Result<PostgresConnection*, PostgresError> ready(Deadline deadline);

  // From now on a schema that a later build has migrated will do: it has only been added to. A
  // session that has begun with its own goes on so by itself.
  void accept_newer_schema() { accepts_newer_ = true; }

  // The connection cannot be used any more.
  void drop();

  void remember(InDoubt reservation) { in_doubt_.push_back(std::move(reservation)); }
  std::size_t in_doubt() const { return in_doubt_.size(); }

  // The statement that lets it wait for others' locks as long as it does by itself.
  std::string patience() const;

  std::uint64_t statements() const;
  // This run of the server that the connection is to: another after a restart or a failover.
  const std::string& server() const { return server_; }

 private:
  Result<std::unique_ptr<PostgresConnection>, PostgresError> open(Deadline deadline);
  std::optional<PostgresError> prepare(PostgresConnection& connection, Deadline deadline);
  std::optional<PostgresError> end_former(PostgresConnection& connection, Deadline deadline);
  std::optional<PostgresError> confirm(PostgresConnection& connection, Deadline deadline);
  std::optional<PostgresError> withdraw(PostgresConnection& connection, Deadline deadline);

  PostgresHosts hosts_;
  const DurationMs timeout_ms_;
  std::unique_ptr<PostgresConnection> connection_;
  std::string backend_;         // process and start time of the server's side, and its tag
  std::string former_backend_;  // those of the last connection that was lost
  std::string server_;
  bool accepts_newer_ = false;
  std::vector<InDoubt> in_doubt_;
  Deadline withdraw_at_{};
  std::uint64_t statements_before_ = 0;
};

}  // namespace oncekey::store
