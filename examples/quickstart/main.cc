// A safe endpoint without its web server: handle() gets what a POST /orders brings, and returns
// what to answer. docs/library.md explains it line by line.
//   quickstart FILE TENANT KEY BODY
#include <oncekey/boundary.h>
#include <oncekey/workflow.h>
#include <sqlite3.h>

#include <cstdio>
#include <exception>
#include <string>

using namespace oncekey;

namespace {

struct HttpAnswer {
  int status;
  std::string body;
};

// The shop asks its payment provider. A real one is sent call.key as its Idempotency-Key.
std::string charge(const PhaseCall& call) {
  return R"({"charge":")" + call.key + R"("})";
}

void execute(sqlite3* connection, const std::string& sql) {
  char* message = nullptr;
  if (sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, &message) == SQLITE_OK) return;
  const std::string error = message;
  sqlite3_free(message);
  throw std::runtime_error(error);
}

Workflow order_workflow(sqlite3* connection) {
  return Workflow(
      "order",
      {{.name = "order",
        .body = [connection](const PhaseBody&) -> PhaseEnd {
          execute(connection, "INSERT INTO orders (state) VALUES ('new')");
          const auto id = std::to_string(sqlite3_last_insert_rowid(connection));
          return Next{"charge", R"({"id":)" + id + "}"};
        }},
       {.name = "charge", .call = charge, .body = [connection](const PhaseBody& phase) -> PhaseEnd {
          execute(connection, "UPDATE orders SET state = 'paid' WHERE id = json_extract('" +
                                  phase.data + "', '$.id')");
          phase.transaction.enqueue({.destination = "mailer", .payload = phase.data});
          StoredResponse answer;
          answer.status = 201;
          answer.headers = {{"content-type", "application/json"}};
          answer.body = phase.data;
          return Finish{answer};
        }}});
}

HttpAnswer handle(Runner& runner, const Fingerprinter& fingerprinter, const std::string& tenant,
                  const std::string& key, const std::string& body) {
  RunRequest request;
  request.id = {tenant, key};
  request.fingerprint =
      fingerprinter.compute({tenant, "POST", "/orders", "application/json", body}, {});
  request.input = body;
  const RunOutcome outcome = runner.run(request);
  struct {
    HttpAnswer operator()(const Done& done) const {
      if (!done.response) return {410, "done, but its answer was not kept"};
      return {done.response->status, done.response->body + (done.replayed ? " (replayed)" : "")};
    }
    HttpAnswer operator()(const InFlight&) const { return {409, "the first is still running"}; }
    HttpAnswer operator()(const Mismatch&) const { return {422, "that key was another request"}; }
    HttpAnswer operator()(const OutcomeUnknown&) const { return {409, "being determined"}; }
    HttpAnswer operator()(const Expired&) const { return {410, "done, long ago"}; }
    HttpAnswer operator()(const TryAgain& later) const { return {503, later.error}; }
  } answer;
  return std::visit(answer, outcome);
}

}  // namespace

int main(int count, char** words) try {
  if (count != 5) {
    std::fprintf(stderr, "usage: quickstart FILE TENANT KEY BODY\n");
    return 2;
  }
  sqlite3* connection = nullptr;
  if (sqlite3_open(words[1], &connection) != SQLITE_OK) return 1;
  sqlite3_busy_timeout(connection, 5000);
  execute(connection, "CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, state TEXT)");
  migrate(connection);  // Oncekey's tables, beside the service's own
  {
    const auto database = join(connection);
    const Fingerprinter fingerprinter("a secret of this deployment");
    Runner runner(*database, order_workflow(connection));
    runner.complete_stalled();  // what an earlier run left when it was killed
    const HttpAnswer answer = handle(runner, fingerprinter, words[2], words[3], words[4]);
    std::printf("%d %s\n", answer.status, answer.body.c_str());
  }
  sqlite3_close(connection);
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "quickstart: %s\n", error.what());
  return 1;
}
