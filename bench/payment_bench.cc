// The library's fast path on PostgreSQL: key, business row and outbox message in one commit, by
// many clients at once on a few connections. `./dev bench --only golden` puts it
// beside the naive way. Prints one line of JSON.
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "oncekey/group.h"
#include "oncekey/transaction.h"
#include "oncekey/workflow.h"

namespace {

using Clock = std::chrono::steady_clock;
using Connection = std::unique_ptr<PGconn, decltype(&PQfinish)>;

void check(PGresult* result, ExecStatusType wanted, PGconn* connection) {
  const bool good = PQresultStatus(result) == wanted;
  PQclear(result);
  if (!good) throw std::runtime_error(PQerrorMessage(connection));
}

oncekey::PhaseEnd pay(PGconn* connection, const oncekey::PhaseBody& body) {
  const char* const values[] = {body.id.key.c_str(), "1250", "EUR", "pending"};
  check(PQexecPrepared(connection, "insert_payment", 4, values, nullptr, nullptr, 0),
        PGRES_COMMAND_OK, connection);
  body.transaction.enqueue(
      {.destination = "provider", .payload = body.input, .message_key = body.key});
  oncekey::StoredResponse response;
  response.status = 201;
  response.headers = {{"content-type", "application/json"}};
  response.body = R"({"id":"pay_0123456789abcdef","status":"pending","amount":1250})";
  return oncekey::Finish{std::move(response)};
}

struct Load {
  std::string prefix;
  std::atomic<bool> stopping{false};
  std::atomic<int> ready{0};
  std::atomic<bool> started{false};
  std::atomic<std::uint64_t> payments{0};
  std::atomic<bool> failed{false};
};

// A connection with the service's own statement, and the library joined to it.
struct Link {
  explicit Link(const std::string& url) : connection(PQconnectdb(url.c_str()), &PQfinish) {
    if (PQstatus(connection.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection.get()));
    }
    check(PQprepare(connection.get(), "insert_payment",
                    "INSERT INTO payments (key, amount, currency, status) VALUES ($1, $2, $3, $4)",
                    4, nullptr),
          PGRES_COMMAND_OK, connection.get());
    database = oncekey::join(connection.get());
  }
  oncekey::Workflow workflow() const {
    return {"payment", {{.name = "pay", .body = [this](const oncekey::PhaseBody& body) {
                           return pay(connection.get(), body);
                         }}}};
  }

  Connection connection;
  std::unique_ptr<oncekey::Database> database;
};

void run_client(Load& load, oncekey::GroupRunner& runner, int number) {
  oncekey::RunRequest request;
  request.id.scope = "default";
  request.fingerprint.version = 1;
  request.input = R"({"amount":1250,"currency":"EUR"})";
  request.method = "POST";
  request.path = "/payments";
  // The first payment prepares what a connection needs, and does not count.
  for (std::uint64_t count = 0; !load.stopping; ++count) {
    request.id.key = load.prefix + std::to_string(number) + "-" + std::to_string(count);
    const auto outcome = runner.run(request);
    const auto* done = std::get_if<oncekey::Done>(&outcome);
    if (done == nullptr || done->replayed) throw std::runtime_error("a fresh key was not executed");
    if (count == 0) {
      ++load.ready;
      load.started.wait(false);
    } else {
      ++load.payments;
    }
  }
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 6) {
    fprintf(stderr, "usage: payment_bench URL CLIENTS CONNECTIONS SECONDS KEY_PREFIX\n");
    return 2;
  }
  Load load;
  load.prefix = argv[5];
  const int clients = atoi(argv[2]);
  std::vector<std::unique_ptr<Link>> links;
  std::vector<oncekey::GroupMember> members;
  for (int i = 0; i < atoi(argv[3]); ++i) {
    links.push_back(std::make_unique<Link>(argv[1]));
    members.push_back({*links.back()->database, links.back()->workflow()});
  }
  oncekey::GroupRunner runner(std::move(members));
  std::vector<std::thread> threads;
  for (int number = 0; number < clients; ++number) {
    threads.emplace_back([&load, &runner, number] {
      try {
        run_client(load, runner, number);
      } catch (const std::exception& error) {
        fprintf(stderr, "payment_bench: %s\n", error.what());
        load.failed = true;
        ++load.ready;
      }
    });
  }
  while (load.ready < clients) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  const auto start = Clock::now();
  load.started = true;
  load.started.notify_all();
  std::this_thread::sleep_for(std::chrono::seconds(atoi(argv[4])));
  load.stopping = true;
  const std::uint64_t payments = load.payments;
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  for (std::thread& thread : threads) thread.join();
  if (load.failed) return 1;
  printf("{\"payments\": %llu, \"seconds\": %.3f}\n", static_cast<unsigned long long>(payments),
         seconds);
  return 0;
} catch (const std::exception& error) {
  fprintf(stderr, "payment_bench: %s\n", error.what());
  return 1;
}
