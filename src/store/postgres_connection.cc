#include "store/postgres_connection.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "store/url_secrets.h"
#include "transaction/postgres_text.h"

namespace oncekey::store {
namespace {

using transaction::one_line;
using Clock = std::chrono::steady_clock;
using Deadline = PostgresConnection::Deadline;

// False: the deadline passed.
bool wait_for(int socket, short events, Deadline deadline) {
  pollfd wanted{.fd = socket, .events = events, .revents = 0};
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    const int ready = ::poll(&wanted, 1, static_cast<int>(std::min<std::int64_t>(left, 60'000)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return true;  // libpq will find out what is wrong
  }
}

PostgresError::Kind kind_of(std::string_view sqlstate) {
  // deadlock, serialisation failure: the transaction was rolled back and may be tried again
  if (sqlstate == "40P01" || sqlstate == "40001") return PostgresError::Kind::retry;
  return PostgresError::Kind::refused;
}

PostgresError error_of(const PGresult* result) {
  const char* sqlstate = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const char* message = PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
  PostgresError error;
  if (sqlstate != nullptr) error.sqlstate = sqlstate;
  error.kind = kind_of(error.sqlstate);
  error.message = one_line(message != nullptr ? message : PQresultErrorMessage(result));
  return error;
}

// Each connection prepares a statement once, under a name of ours: where it is there already, or
// not any more, the session is not the connection's own.
PostgresError in_own_session(PostgresError error) {
  if (error.sqlstate == "42P05" || error.sqlstate == "26000") {
    error.message += ", as behind a pooler in transaction mode: " + std::string(how_to_pool);
  }
  return error;
}

// libpq names hosts and users that it read out of the URL, which may be pieces of a password.
std::string without_secrets(const std::string& url, std::string message) {
  if (password_is_plain(url)) return message;
  return without_pieces_of_password(url, std::move(message)) + "; if the password was misread, " +
         std::string(how_to_write_a_password);
}

// That a commit was not waited for. Other warnings are about something else, and their code is the
// same: a cluster that should be vacuumed says so with every transaction.
void remember_warning(void* into, const PGresult* notice) {
  const char* from = PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
  if (from == nullptr || std::string_view(from) != "SyncRepWaitForLSN") return;
  const char* message = PQresultErrorField(notice, PG_DIAG_MESSAGE_PRIMARY);
  *static_cast<std::string*>(into) = one_line(message != nullptr ? message : "a warning");
}

PGconn* start(const PostgresHosts::Parameters& parameters) {
  std::vector<const char*> names, values;
  for (const auto& [name, value] : parameters) {
    names.push_back(name.c_str());
    values.push_back(value.c_str());
  }
  names.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectStartParams(names.data(), values.data(), 0);
}

}  // namespace

std::string reason_of(const PostgresError& error) {
  if (waited_for_a_lock(error)) {
    return "PostgreSQL: somebody's transaction holds the record, or oncekey.records as a whole "
           "(VACUUM FULL, LOCK TABLE) (" +
           error.sqlstate + ")";
  }
  return "PostgreSQL: " + error.message +
         (error.sqlstate.empty() ? "" : " (" + error.sqlstate + ")");
}

bool waited_for_a_lock(const PostgresError& error) {
  return error.sqlstate == "55P03";
}

bool needs_another_session(const PostgresError& error) {
  return error.sqlstate == "25006" || error.sqlstate.starts_with("57P") ||
         error.sqlstate == "26000";
}

Result<std::unique_ptr<PostgresConnection>, PostgresError> PostgresConnection::connect(
    const std::string& url, Deadline deadline) {
  PostgresHosts hosts(url);
  return connect(hosts, deadline);
}

Result<std::unique_ptr<PostgresConnection>, PostgresError> PostgresConnection::connect(
    PostgresHosts& hosts, Deadline deadline) {
  PostgresError error{PostgresError::Kind::lost, "", hosts.error()};
  if (!hosts.error().empty()) return error;
  const auto add = [&error](const PostgresError& failed) {
    const std::string also = error.message.empty() ? "" : error.message + "; ";
    error = {PostgresError::Kind::lost, failed.sqlstate, also + failed.message};
  };
  const auto share = [](Deadline end, std::size_t of) {
    return Clock::now() + (end - Clock::now()) / static_cast<int>(of);
  };
  hosts.look_up();
  for (std::size_t i = 0; i < hosts.count(); ++i) {
    const Deadline host_until = share(deadline, hosts.count() - i);
    const auto places = hosts.places(i, host_until);
    if (!places) add({PostgresError::Kind::lost, "", places.error()});
    for (std::size_t at = 0; places && at < places->size(); ++at) {
      auto connection = connect_to((*places)[at], share(host_until, places->size() - at));
      if (connection) return connection;
      add(connection.error());
    }
  }
  error.message = without_secrets(hosts.url(), std::move(error.message));
  return error;
}

PostgresConnection::Opened PostgresConnection::connect_to(const PostgresHosts::Parameters& place,
                                                          Deadline deadline) {
  std::unique_ptr<PostgresConnection> connection(new PostgresConnection(start(place)));
  if (auto failed = connection->finish_connecting(deadline)) return *failed;
  return connection;
}

std::optional<PostgresError> PostgresConnection::finish_connecting(Deadline deadline) {
  PGconn* const raw = connection_.get();
  if (raw == nullptr) return lost("out of memory");
  auto status = PQstatus(raw) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING;
  while (status != PGRES_POLLING_OK) {
    if (status == PGRES_POLLING_FAILED) return lost("cannot connect");
    const short events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT;
    if (!wait_for(PQsocket(raw), events, deadline)) {
      // libpq itself only says that it failed, and not yet why.
      return PostgresError{
          PostgresError::Kind::lost, "",
          "no answer from " + std::string(PQhost(raw)) + ":" + PQport(raw) + " while connecting"};
    }
    status = PQconnectPoll(raw);
  }
  if (PQsetnonblocking(raw, 1) != 0) return lost("cannot connect");
  PQsetNoticeReceiver(raw, remember_warning, &warning_);
  auto recovering = run("SELECT pg_is_in_recovery()", deadline);
  if (!recovering) return recovering.error();
  if (recovering->bytes(0, 0) == "t") {
    return PostgresError{
        PostgresError::Kind::refused, "25006",
        std::string(PQhost(raw)) + ":" + PQport(raw) + " is a standby, which takes no writes"};
  }
  return std::nullopt;
}

std::string PostgresConnection::server_encoding() const {
  const char* encoding = PQparameterStatus(connection_.get(), "server_encoding");
  return encoding != nullptr ? encoding : "";
}

PostgresError PostgresConnection::lost(std::string_view why) const {
  std::string message(why);
  const std::string said = one_line(PQerrorMessage(connection_.get()));
  if (!said.empty()) message = said;
  return {PostgresError::Kind::lost, "", message};
}

std::optional<PostgresError> PostgresConnection::flush(Deadline deadline) {
  for (;;) {
    const int left = PQflush(connection_.get());
    if (left == 0) return std::nullopt;
    if (left < 0) return lost("the connection broke while sending");
    // A server that does not read until its own answer is read must not block us.
    pollfd wanted{.fd = PQsocket(connection_.get()), .events = POLLIN | POLLOUT, .revents = 0};
    if (!wait_for(wanted.fd, wanted.events, deadline)) return lost("no answer in time");
    if (::poll(&wanted, 1, 0) > 0 && (wanted.revents & POLLIN) != 0 &&
        PQconsumeInput(connection_.get()) == 0) {
      return lost("the connection broke while sending");
    }
  }
}

std::optional<PostgresError> PostgresConnection::wait_until_readable(Deadline deadline) {
  while (PQisBusy(connection_.get()) == 1) {
    if (!wait_for(PQsocket(connection_.get()), POLLIN, deadline)) {
      return PostgresError{PostgresError::Kind::lost, "", "the server did not answer in time"};
    }
    if (PQconsumeInput(connection_.get()) == 0) return lost("the connection was closed");
  }
  return std::nullopt;
}

Result<PostgresResult, PostgresError> PostgresConnection::answer(int sent, Deadline deadline) {
  if (sent != 1) return lost("the connection is closed");
  ++statements_;
  warning_.clear();
  if (auto failed = flush(deadline)) return *failed;
  PostgresResult last(nullptr);
  std::optional<PostgresError> error;
  // The server, or a proxy before it, may have said why; that nothing was done is then still not
  // certain.
  const auto broken = [&](PostgresError failed) {
    if (error) failed = *error;
    failed.kind = PostgresError::Kind::lost;
    return failed;
  };
  for (;;) {
    if (auto failed = wait_until_readable(deadline)) return broken(*failed);
    PGresult* const result = PQgetResult(connection_.get());
    if (result == nullptr) break;
    last = PostgresResult(result);
    const ExecStatusType status = PQresultStatus(result);
    const bool good = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
    if (!good && !error) error = error_of(result);
  }
  if (PQstatus(connection_.get()) == CONNECTION_BAD)
    return broken(lost("the connection was closed"));
  if (error) return *error;
  return last;
}

Result<PostgresResult, PostgresError> PostgresConnection::run(const std::string& sql,
                                                              Deadline deadline) {
  return answer(PQsendQuery(connection_.get(), sql.c_str()), deadline);
}

Result<PostgresResult, PostgresError> PostgresConnection::call(const std::string& name,
                                                               const std::string& sql,
                                                               const PostgresParameters& parameters,
                                                               Deadline deadline) {
  if (std::find(prepared_.begin(), prepared_.end(), name) == prepared_.end()) {
    auto prepared =
        answer(PQsendPrepare(connection_.get(), name.c_str(), sql.c_str(), 0, nullptr), deadline);
    if (!prepared) return in_own_session(prepared.error());
    prepared_.push_back(name);
  }
  const PostgresParameters::View view = parameters.view();
  auto done =
      answer(PQsendQueryPrepared(connection_.get(), name.c_str(), view.count(), view.values.data(),
                                 view.lengths.data(), view.formats.data(), 1),
             deadline);
  if (done && !warning_.empty()) return PostgresError{PostgresError::Kind::lost, "01000", warning_};
  if (!done) return in_own_session(done.error());
  return done;
}

Result<bool, PostgresError> PostgresConnection::notified() {
  if (PQconsumeInput(connection_.get()) == 0) return lost("the connection was closed");
  bool any = false;
  while (PGnotify* const notification = PQnotifies(connection_.get())) {
    any = true;
    PQfreemem(notification);
  }
  return any;
}

}  // namespace oncekey::store
