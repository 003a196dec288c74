// The outbox in PostgreSQL beyond what every queue does: notifications, sessions that end, rows
// that writers hold.
#include "outbox/postgres_queue.h"

#include <gtest/gtest.h>

#include <future>

#include "contract/postgres_engine.h"
#include "support/postgres_server.h"
#include "support/waiting.h"

namespace oncekey::outbox {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds lease = seconds(30);

std::unique_ptr<Queue> opened(const std::string& url) {
  auto queue = PostgresQueue::open(url);
  if (!queue) throw std::runtime_error(queue.error());
  return std::move(*queue);
}

// The database's own clock, which cannot be moved, unless a test asks for the other.
std::string fresh_database() {
  const std::string url = store::fresh_clocked_database();
  test::PostgresClient(url).execute(
      "CREATE OR REPLACE FUNCTION oncekey.clock() RETURNS timestamptz LANGUAGE sql VOLATILE"
      " AS 'SELECT date_trunc(''milliseconds'', clock_timestamp())'");
  return url;
}

std::vector<Claimed> claimed(Queue& queue, std::size_t limit = 100, milliseconds for_time = lease,
                             const std::string& worker = "worker") {
  auto claimed = queue.claim(worker, limit, for_time);
  if (!claimed) throw std::runtime_error(claimed.error());
  return *claimed;
}

std::string payloads(const std::vector<Claimed>& messages) {
  std::string all;
  for (const Claimed& message : messages) {
    all += (all.empty() ? "" : " ") + message.message.payload;
  }
  return all;
}

std::vector<MessageId> recorded(Queue& queue, const std::vector<Outcome>& outcomes) {
  auto lost = queue.record(outcomes);
  if (!lost) throw std::runtime_error(lost.error());
  return *lost;
}

class PostgresQueueTest : public testing::Test {
 protected:
  void enqueue(test::PostgresClient& client, const std::string& payload,
               const std::string& aggregate = "") {
    client.execute("SELECT oncekey.enqueue('sink', '" + payload + "', aggregate => '" + aggregate +
                   "')");
  }
  void enqueue(const std::string& payload, const std::string& aggregate = "") {
    enqueue(writer_, payload, aggregate);
  }
  // Until the worker would sleep until it is woken.
  void fall_asleep(Queue& queue) {
    EXPECT_TRUE(claimed(queue).empty());
    queue.wait(seconds(60));  // returns for one more look
    EXPECT_TRUE(claimed(queue).empty());
  }
  std::future<milliseconds> waiting(Queue& queue, milliseconds at_most = seconds(60)) {
    return std::async(std::launch::async, [&queue, at_most] {
      const auto from = Clock::now();
      queue.wait(at_most);
      return std::chrono::duration_cast<milliseconds>(Clock::now() - from);
    });
  }

  std::string url_ = fresh_database();
  test::PostgresClient writer_{url_};
  std::unique_ptr<Queue> queue_ = opened(url_);
};

TEST_F(PostgresQueueTest, WriterWakesASleepingWorkerWhenItCommits) {
  fall_asleep(*queue_);
  auto wait = waiting(*queue_);
  writer_.execute("BEGIN");
  enqueue("a");
  EXPECT_EQ(wait.wait_for(milliseconds(50)), std::future_status::timeout) << "not committed";
  writer_.execute("COMMIT");
  EXPECT_LT(wait.get(), seconds(30));
  EXPECT_EQ(payloads(claimed(*queue_)), "a");
}

TEST_F(PostgresQueueTest, RollbackWakesNobody) {
  fall_asleep(*queue_);
  writer_.execute("BEGIN");
  enqueue("a");
  writer_.execute("ROLLBACK");
  EXPECT_GE(waiting(*queue_, milliseconds(100)).get(), milliseconds(100));
  EXPECT_TRUE(claimed(*queue_).empty());
}

// Whoever wrote before the worker lay down will not notify: the worker must not sleep then.
TEST_F(PostgresQueueTest, WorkerDoesNotSleepWhileOthersWrite) {
  writer_.execute("BEGIN");
  enqueue("a");
  EXPECT_TRUE(claimed(*queue_).empty());
  EXPECT_LT(waiting(*queue_).get(), seconds(30));
  EXPECT_TRUE(claimed(*queue_).empty());
  writer_.execute("COMMIT");
  EXPECT_LT(waiting(*queue_).get(), seconds(30));
  EXPECT_EQ(payloads(claimed(*queue_)), "a");
}

TEST_F(PostgresQueueTest, BusyWorkerIsNotNotified) {
  test::PostgresClient listener(url_);
  fall_asleep(*queue_);
  enqueue("a");
  EXPECT_EQ(payloads(claimed(*queue_)), "a");
  // It is awake: writers take the lock, and need not queue up for notifications.
  writer_.execute("BEGIN");
  enqueue("b");
  EXPECT_EQ(writer_.query("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted"
                          " AND pid = pg_backend_pid()"),
            "1");
  writer_.execute("COMMIT");
}

TEST_F(PostgresQueueTest, SecondSleeperIsWokenToo) {
  auto other = opened(url_);
  fall_asleep(*queue_);
  EXPECT_TRUE(claimed(*other).empty());
  auto first = waiting(*queue_);
  auto second = waiting(*other);
  EXPECT_TRUE(test::eventually([&] {
    return writer_.query(
               "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
               " AND query LIKE '%due_at > m.looked_at%' AND state = 'idle'") == "2";
  }));
  enqueue("a");
  EXPECT_LT(first.get(), seconds(30));
  EXPECT_LT(second.get(), seconds(30));
  EXPECT_EQ(payloads(claimed(*queue_)) + payloads(claimed(*other)), "a");
}

// Its lock went with the session: nobody would notify it.
TEST_F(PostgresQueueTest, SleeperWhoseSessionEndedLooksAgain) {
  fall_asleep(*queue_);
  const std::string database = url_.substr(url_.rfind('/') + 1);
  const std::string sleepers =
      " FROM pg_stat_activity a JOIN pg_locks l USING (pid) WHERE l.locktype = 'advisory' AND"
      " l.mode = 'ExclusiveLock' AND a.datname = current_database()";
  test::PostgresClient admin(test::shared_postgres().admin_url(database));
  ASSERT_EQ(admin.query("SELECT count(pg_terminate_backend(a.pid))" + sleepers), "1");
  EXPECT_TRUE(test::eventually([&] { return admin.query("SELECT count(*)" + sleepers) == "0"; }));
  EXPECT_LT(waiting(*queue_).get(), seconds(30));
  enqueue("a");
  EXPECT_EQ(payloads(claimed(*queue_)), "a");
}

TEST_F(PostgresQueueTest, WakeFromAnotherThreadEndsTheWait) {
  fall_asleep(*queue_);
  auto wait = waiting(*queue_);
  queue_->wake();
  EXPECT_LT(wait.get(), seconds(30));
}

TEST_F(PostgresQueueTest, WaitEndsWhenARetryIsDue) {
  enqueue("a");
  const auto messages = claimed(*queue_);
  recorded(*queue_, {{messages[0].id, messages[0].claim, RetryLater{"busy", milliseconds(2'000)}}});
  fall_asleep(*queue_);
  EXPECT_LT(waiting(*queue_).get(), seconds(30));
  EXPECT_TRUE(test::eventually([&] { return payloads(claimed(*queue_)) == "a"; }));
  auto restarted = opened(url_);  // it knows of no retries
  const auto entry = queue_->find(messages[0].id);
  ASSERT_TRUE(entry);
  EXPECT_EQ((*entry)->last_error, "busy");
  EXPECT_EQ((*entry)->attempt, 2u);
}

TEST_F(PostgresQueueTest, TwoWorkersNeverHoldTheSameMessage) {
  constexpr int count = 2000;
  writer_.execute(
      "SELECT oncekey.enqueue('sink', i::text::bytea, aggregate => CASE WHEN i % 3 = 0"
      " THEN 'a' || i % 7 END) FROM generate_series(1, " +
      std::to_string(count) + ") i");
  std::mutex mutex;
  std::set<MessageId> seen;
  std::map<std::string, MessageId> last_of;
  std::vector<std::future<void>> workers;
  for (int w = 0; w < 4; ++w) {
    workers.push_back(std::async(std::launch::async, [&, w] {
      auto queue = opened(url_);
      for (int empty = 0; empty < 3;) {
        const auto batch = claimed(*queue, 50, lease, "worker " + std::to_string(w));
        empty = batch.empty() ? empty + 1 : 0;
        std::vector<Outcome> outcomes;
        for (const Claimed& message : batch) {
          const std::lock_guard lock(mutex);
          EXPECT_TRUE(seen.insert(message.id).second) << "claimed twice: " << message.id;
          if (!message.message.aggregate.empty()) {
            MessageId& last = last_of[message.message.aggregate];
            EXPECT_GT(message.id, last) << "out of order";
            last = message.id;
          }
          outcomes.push_back({message.id, message.claim, Delivered{"p" + message.message.payload}});
        }
        EXPECT_TRUE(recorded(*queue, outcomes).empty());
      }
    }));
  }
  for (auto& worker : workers) worker.get();
  for (const auto& batch = claimed(*queue_); !batch.empty();) FAIL() << "left over";
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(writer_.query("SELECT count(*) FROM oncekey.outbox WHERE state = 2 AND delivered_at IS"
                          " NOT NULL AND provider_id = 'p' || convert_from(payload, 'UTF8')"),
            std::to_string(count));
}

// More aggregates than one statement visits, all but the last of which cannot go on.
TEST_F(PostgresQueueTest, AggregatesThatCannotGoOnDoNotHideTheOthers) {
  writer_.execute(
      "SELECT oncekey.enqueue('sink', 'dead', aggregate => lpad(i::text, 6, '0'))"
      " FROM generate_series(1, 2500) i;"
      "UPDATE oncekey.outbox SET state = 1");
  enqueue("behind a dead one", "000001");
  enqueue("last", "zzz");
  EXPECT_EQ(payloads(claimed(*queue_)), "last");
  EXPECT_TRUE(claimed(*queue_).empty());
  enqueue("no order");
  enqueue("first", "");
  EXPECT_EQ(payloads(claimed(*queue_)), "no order first");
}

TEST_F(PostgresQueueTest, LongQueueOfOneAggregateIsDeliveredInOrder) {
  writer_.execute(
      "SELECT oncekey.enqueue('sink', i::text::bytea, aggregate => 'a') FROM"
      " generate_series(1, 30) i");
  std::string order, expected;
  for (int i = 1; i <= 30; ++i) {
    const auto batch = claimed(*queue_);
    ASSERT_EQ(batch.size(), 1u);
    order += batch[0].message.payload + " ";
    expected += std::to_string(i) + " ";
    recorded(*queue_, {{batch[0].id, batch[0].claim, Delivered{}}});
  }
  EXPECT_EQ(order, expected);
}

// Its new version lies beside the old one: with no indexed column changed, no index is touched.
TEST_F(PostgresQueueTest, ClaimStaysOnThePageOfItsMessage) {
  writer_.execute(
      "SELECT oncekey.enqueue('sink', 'x') FROM generate_series(1, 200);"
      "CREATE TABLE public.before AS SELECT id, split_part(ctid::text, ',', 1) AS page"
      " FROM oncekey.outbox");
  EXPECT_EQ(claimed(*queue_, 200).size(), 200u);
  EXPECT_EQ(writer_.query("SELECT count(*) FROM oncekey.outbox o JOIN public.before b USING (id)"
                          " WHERE split_part(o.ctid::text, ',', 1) = b.page"),
            "200");
  EXPECT_EQ(writer_.query("SELECT count(*) FROM pg_index i, unnest(i.indkey) k JOIN pg_attribute a"
                          " ON a.attnum = k WHERE i.indrelid = 'oncekey.outbox'::regclass AND"
                          " a.attrelid = i.indrelid AND a.attname IN"
                          " ('claim', 'lease_until', 'attempt', 'owner')"),
            "0");
}

TEST_F(PostgresQueueTest, AnyBytesSurvive) {
  writer_.execute(
      "SELECT oncekey.enqueue('sink', '\\x00ff5c', 'k\\\\377', headers => '{\"a\": "
      "\"\\\\\\\\\"}')");
  const auto batch = claimed(*queue_);
  ASSERT_EQ(batch.size(), 1u);
  EXPECT_EQ(batch[0].message.payload, std::string("\0\xff\\", 3));
  EXPECT_EQ(batch[0].message.message_key, "k\\\\377");
  EXPECT_EQ(batch[0].message.headers, (std::vector<Header>{{"a", "\\\\"}}));
}

TEST_F(PostgresQueueTest, OldDeliveredMessagesAreReapedInPieces) {
  writer_.execute("SELECT oncekey.enqueue('sink', 'x') FROM generate_series(1, 5)");
  std::vector<Outcome> outcomes;
  for (const Claimed& message : claimed(*queue_, 3)) {
    outcomes.push_back({message.id, message.claim, Delivered{}});
  }
  recorded(*queue_, outcomes);
  EXPECT_EQ(*queue_->reap(std::chrono::hours(1), 10), 0u);
  EXPECT_EQ(*queue_->reap(milliseconds(0), 2), 2u);
  EXPECT_EQ(*queue_->reap(milliseconds(0), 2), 1u);
  EXPECT_EQ(writer_.query("SELECT count(*) FROM oncekey.outbox"), "2");
}

TEST_F(PostgresQueueTest, WorkerRoleWithTheDocumentedGrantsWorks) {
  const std::string database = url_.substr(url_.rfind('/') + 1);
  test::PostgresClient(test::shared_postgres().admin_url(database))
      .execute(
          "DO $$ BEGIN CREATE ROLE outbox_worker LOGIN; EXCEPTION WHEN duplicate_object OR"
          " unique_violation THEN NULL; END $$");
  writer_.execute(
      "GRANT USAGE ON SCHEMA oncekey TO outbox_worker;"
      "GRANT SELECT, UPDATE, DELETE ON oncekey.outbox TO outbox_worker;"
      "GRANT USAGE ON SEQUENCE oncekey.outbox_claims TO outbox_worker;"
      "GRANT SELECT ON oncekey.migrations TO outbox_worker;"
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA oncekey TO outbox_worker");
  std::string url = url_;
  url.replace(url.find("//oncekey@") + 2, 7, "outbox_worker");
  auto queue = opened(url);
  fall_asleep(*queue);
  enqueue("a");
  const auto batch = claimed(*queue);
  ASSERT_EQ(payloads(batch), "a");
  EXPECT_EQ(*queue->extend(std::vector{batch[0].id}, batch[0].claim, lease), 1u);
  recorded(*queue, {{batch[0].id, batch[0].claim, DeadLetter{"no"}}});
  EXPECT_EQ(*queue->retry(std::vector{batch[0].id}), 1u);
  EXPECT_EQ(queue->stats()->waiting, 1u);
  EXPECT_EQ(*queue->reap(milliseconds(0), 10), 0u);
}

TEST(PostgresQueueServerTest, QueueComesBackWithTheServer) {
  test::PostgresServer server;
  auto migrated = store::migrate(server.url(), store::soon());
  ASSERT_TRUE(migrated) << migrated.error().message;
  auto queue = opened(server.url());
  test::PostgresClient(server.url()).execute("SELECT oncekey.enqueue('sink', 'a')");
  const auto before = claimed(*queue);
  ASSERT_EQ(payloads(before), "a");
  server.stop_immediate();
  EXPECT_FALSE(
      queue->record(std::vector<Outcome>{{before[0].id, before[0].claim, Delivered{"p"}}}));
  queue->wait(milliseconds(1));  // returns although there is no server
  server.start();
  EXPECT_TRUE(recorded(*queue, {{before[0].id, before[0].claim, Delivered{"p"}}}).empty());
  EXPECT_EQ((*queue->find(before[0].id))->provider_id, "p");

  EXPECT_TRUE(claimed(*queue).empty());
  queue->wait(seconds(60));
  EXPECT_TRUE(claimed(*queue).empty());
  auto wait = std::async(std::launch::async, [&] { queue->wait(seconds(60)); });
  server.restart_fast();
  test::PostgresClient(server.url()).execute("SELECT oncekey.enqueue('sink', 'b')");
  const auto back = Clock::now();
  wait.get();
  EXPECT_LT(Clock::now() - back, seconds(30));
  EXPECT_EQ(payloads(claimed(*queue)), "b");
}

}  // namespace
}  // namespace oncekey::outbox
