#include "outbox/worker.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <set>
#include <thread>

#include "oncekey/transaction.h"
#include "outbox/sqlite_queue.h"
#include "outbox/test_queue.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"
#include "support/waiting.h"

namespace oncekey::outbox {
namespace {

using namespace std::chrono_literals;
using test::eventually;

class Witness final : public WorkerObserver {
 public:
  void recorded(const Claimed&, const Outcome& outcome, bool lost) override {
    if (auto* dead = std::get_if<DeadLetter>(&outcome.what)) last_error = dead->error;
    if (auto* later = std::get_if<RetryLater>(&outcome.what)) last_error = later->error;
    lost_any = lost_any || lost;
  }
  void queue_failed(std::string_view, std::string_view error) override { last_error = error; }
  void queue_recovered() override {}

  std::string last_error;
  bool lost_any = false;
};

class OutboxWorker : public testing::Test {
 protected:
  OutboxWorker() : path_((folder_.path() / "service.db").string()) {
    sqlite3_open(path_.c_str(), &connection_);
    sqlite3_busy_timeout(connection_, 10'000);
    oncekey::migrate(connection_);
    service_ = oncekey::join(connection_);
    queue_ = open_sqlite_queue(path_).value();
    config_.name = "test";
    config_.poll_ms = 50;
    sink_.name = "provider";
    sink_.url = upstream_.url();
    sink_.timeout_ms = 10'000;
    sink_.backoff_base_ms = 1;
    sink_.backoff_max_ms = 1;
  }
  ~OutboxWorker() override {
    service_.reset();
    queue_.reset();
    sqlite3_close(connection_);
  }

  void enqueue(const std::string& key, const std::string& behaviour = "",
               const std::string& destination = "provider", int count = 1) {
    service_->begin();
    for (int i = 0; i < count; ++i) {
      Message message;
      message.destination = destination;
      message.payload = "{}";
      message.message_key = count == 1 ? key : key + std::to_string(i);
      message.headers = {{"X-Test-Behaviour", behaviour}};
      service_->transaction().enqueue(message);
    }
    service_->commit();
  }
  void enqueue_in_order(const std::string& aggregate, const std::string& key) {
    Message message;
    message.destination = "provider";
    message.payload = "{}";
    message.message_key = key;
    message.aggregate = aggregate;
    service_->begin();
    service_->transaction().enqueue(message);
    service_->commit();
  }
  // From now on the worker's queue is one that can be troubled.
  TestQueue& trouble() {
    auto troubled = std::make_unique<TestQueue>(std::move(queue_));
    TestQueue& queue = *troubled;
    queue_ = std::move(troubled);
    return queue;
  }
  // Another worker's: delivers what it can claim now, and says the keys.
  std::set<std::string> delivered_by_another(Queue& queue) {
    std::set<std::string> keys;
    const auto claimed = queue.claim("another", 10, 60s);
    if (!claimed) return keys;
    for (const Claimed& each : *claimed) {
      const Outcome outcome{each.id, each.claim, Delivered{}};
      const auto lost = queue.record({&outcome, 1});
      if (lost && lost->empty()) keys.insert(each.message.message_key);
    }
    return keys;
  }
  std::unique_ptr<Worker> worker(std::vector<SinkConfig> more = {}) {
    more.push_back(sink_);
    return std::make_unique<Worker>(
        *queue_, config_, more, [] { return 1614265330; }, witness_);
  }
  // Another worker's look at the same outbox.
  QueueStats stats() { return *(*open_sqlite_queue(path_))->stats(); }

  test::TemporaryFolder folder_;
  std::string path_;
  sqlite3* connection_ = nullptr;
  std::unique_ptr<Database> service_;
  std::unique_ptr<Queue> queue_;
  test::ScriptedUpstream upstream_;
  WorkerConfig config_;
  SinkConfig sink_;
  Witness witness_;
};

// Runs a worker on a thread of its own until the end of the scope.
class Running {
 public:
  explicit Running(Worker& worker, std::chrono::milliseconds grace = 10s)
      : worker_(worker), thread_([&worker, grace] { worker.run(grace); }) {}
  ~Running() { stop(); }
  void stop() {
    worker_.stop();
    if (thread_.joinable()) thread_.join();
  }

 private:
  Worker& worker_;
  std::thread thread_;
};

TEST_F(OutboxWorker, OneRunDeliversWhatIsDueAndCountsIt) {
  enqueue("one");
  enqueue("two", "status=503");
  enqueue("three", "status=422");
  const WorkerCounts counts = worker()->run_once(100);
  EXPECT_EQ(counts.claimed, 3u);
  EXPECT_EQ(counts.delivered, 1u);
  EXPECT_EQ(counts.retried, 1u);
  EXPECT_EQ(counts.dead, 1u);
  EXPECT_EQ(upstream_.audit().of_key("one").size(), 1u);
  EXPECT_EQ(stats().waiting, 1u);
  EXPECT_EQ(stats().dead, 1u);
}

TEST_F(OutboxWorker, OneRunIsBoundedAndAnEmptyOutboxIsNothingToDo) {
  enqueue("many", "", "provider", 10);
  auto once = worker();
  EXPECT_EQ(once->run_once(4).delivered, 4u);
  EXPECT_EQ(once->run_once(100).delivered, 6u);
  EXPECT_EQ(once->run_once(100).claimed, 0u);
}

TEST_F(OutboxWorker, ProviderIdIsKept) {
  enqueue("one");
  worker()->run_once(1);
  const auto entries = queue_->list({});
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->at(0).provider_id, "order-1");
  EXPECT_EQ(entries->at(0).state, "delivered");
}

TEST_F(OutboxWorker, UnknownDestinationIsADeadLetterThatNamesIt) {
  enqueue("one", "", "nowhere");
  EXPECT_EQ(worker()->run_once(1).dead, 1u);
  EXPECT_NE(witness_.last_error.find("no sink is named \"nowhere\""), std::string::npos);
}

TEST_F(OutboxWorker, FailingMessageIsGivenUpAfterItsAttempts) {
  sink_.attempts_max = 3;
  enqueue("poison", "status=500");
  enqueue("good");
  auto running = worker();
  {
    Running run(*running);
    EXPECT_TRUE(eventually([&] { return running->figures().dead == 1; }));
  }
  EXPECT_EQ(upstream_.audit().of_key("poison").size(), 3u);
  EXPECT_EQ(upstream_.audit().of_key("good").size(), 1u);
  EXPECT_EQ(witness_.last_error, "given up after 3 attempts: the receiver answered 500");
}

TEST_F(OutboxWorker, OutcomesShareCommits) {
  enqueue("many", "", "provider", 400);
  auto running = worker();
  Running run(*running);
  ASSERT_TRUE(eventually([&] { return running->figures().delivered == 400; }));
  EXPECT_LT(running->figures().records, 200u);
}

TEST_F(OutboxWorker, SlowDestinationHoldsUpNobodyElse) {
  config_.batch_max = 64;
  config_.claimed_max = 256;
  SinkConfig slow = sink_;
  slow.name = "slow";
  slow.in_flight_max = 4;
  enqueue("slow", "hold=never", "slow", 600);
  enqueue("quick", "", "provider", 5);
  auto running = worker({slow});
  {
    Running run(*running, 0s);
    EXPECT_TRUE(eventually([&] { return running->figures().delivered == 5; }));
    EXPECT_GT(running->figures().released, 0u);
    running->stop();
    upstream_.open_gate("never");
  }
  EXPECT_EQ(stats().dead, 0u);
}

TEST_F(OutboxWorker, StoppingFinishesWhatIsUnderWayAndPutsBackTheRest) {
  sink_.in_flight_max = 1;
  enqueue("first", "hold=gate");
  enqueue("second");
  auto running = worker();
  Running run(*running);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals("first", 1));
  ASSERT_TRUE(eventually([&] { return running->figures().held == 2; }));
  running->stop();
  ASSERT_TRUE(eventually([&] { return running->figures().released == 1; }));
  upstream_.open_gate("gate");
  run.stop();
  EXPECT_EQ(running->figures().delivered, 1u);
  EXPECT_EQ(upstream_.audit().of_key("second").size(), 0u);
  const auto again = (*open_sqlite_queue(path_))->claim("another", 10, 1s);
  ASSERT_EQ(again->size(), 1u);  // at once: its claim was given back
  EXPECT_EQ(again->at(0).message.message_key, "second");
  EXPECT_EQ(again->at(0).attempt, 1u);
}

TEST_F(OutboxWorker, WhatIsStillUnderWayAfterTheGraceIsCutOff) {
  enqueue("stuck", "hold=never");
  auto running = worker();
  Running run(*running, 0s);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals("stuck", 1));
  run.stop();
  EXPECT_EQ(running->figures().retried, 1u);
  EXPECT_EQ(stats().waiting, 1u);
  upstream_.open_gate("never");
}

TEST_F(OutboxWorker, ClaimsAreExtendedWhileADeliveryTakesLong) {
  config_.lease_ms = 2'000;
  enqueue("slow", "hold=gate");
  auto running = worker();
  Running run(*running);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals("slow", 1));
  test::let_time_pass(3'000ms);  // time is the point: longer than the lease
  EXPECT_TRUE((*open_sqlite_queue(path_))->claim("another", 10, 1s)->empty());
  upstream_.open_gate("gate");
  EXPECT_TRUE(eventually([&] { return running->figures().delivered == 1; }));
  run.stop();
  EXPECT_FALSE(witness_.lost_any);
  EXPECT_EQ(upstream_.audit().of_key("slow").size(), 1u);
}

TEST_F(OutboxWorker, WhatAnotherTookOverIsNotDeliveredWhenTheQueueIsBack) {
  config_.lease_ms = 300;
  sink_.in_flight_max = 1;
  TestQueue& queue = trouble();
  enqueue("slow", "hold=gate");
  enqueue_in_order("account", "first");
  enqueue_in_order("account", "second");
  auto running = worker();
  Running run(*running);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals("slow", 1));
  ASSERT_EQ(running->figures().held, 2u);  // "first" waits for the place of "slow"
  queue.be_away(true);
  auto other = open_sqlite_queue(path_).value();
  std::set<std::string> taken_over;
  EXPECT_TRUE(eventually([&] {
    taken_over.merge(delivered_by_another(*other));
    return taken_over == std::set<std::string>{"slow", "first", "second"};
  }));
  const std::size_t before = queue.extensions();
  queue.be_away(false);
  EXPECT_TRUE(eventually([&] { return queue.extensions() > before; }));
  upstream_.open_gate("gate");
  EXPECT_TRUE(eventually([&] { return running->figures().lost == 2; }));
  EXPECT_EQ(upstream_.audit().of_key("first").size(), 0u) << "delivered after \"second\"";
}

TEST_F(OutboxWorker, WhatItStillHasIsNotDeliveredAgainWhenItClaimsItOnceMore) {
  config_.lease_ms = 300;
  TestQueue& queue = trouble();
  enqueue("slow", "hold=gate");
  auto running = worker();
  Running run(*running);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals("slow", 1));
  const std::uint64_t before = running->figures().taken_over;
  queue.stall_next_claim();
  EXPECT_TRUE(eventually([&] { return running->figures().taken_over > before; }));
  upstream_.open_gate("gate");
  EXPECT_TRUE(eventually([&] { return running->figures().held == 0; }));
  run.stop();
  EXPECT_EQ(upstream_.audit().of_key("slow").size(), 1u);
  EXPECT_EQ(running->figures().delivered, 1u);
  EXPECT_FALSE(witness_.lost_any);
}

TEST_F(OutboxWorker, MessageThatKillsItsWorkersIsGivenUp) {
  sink_.attempts_max = 2;
  enqueue("deadly");
  for (int attempt = 1; attempt <= 2; ++attempt) {  // workers that die with it
    ASSERT_TRUE(eventually([&] { return !queue_->claim("dying", 1, 1ms)->empty(); }));
  }
  auto last = worker();
  EXPECT_TRUE(eventually([&] { return last->run_once(1).dead == 1; }));
  EXPECT_EQ(upstream_.audit().of_key("deadly").size(), 0u);
  EXPECT_NE(witness_.last_error.find("ended without an outcome"), std::string::npos);
}

TEST_F(OutboxWorker, SinkThatCannotBeMadeIsSaidByName) {
  sink_.url = "ftp://example.org";
  try {
    worker();
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()).find("sink \"provider\": "), 0u) << error.what();
  }
}

}  // namespace
}  // namespace oncekey::outbox
