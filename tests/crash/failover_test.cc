// Stores of several machines, one of which dies under load: two gateways go on by themselves.
#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <map>
#include <memory>

#include "crash/inquest.h"
#include "crash/load.h"
#include "crash/resumption.h"
#include "crash/stage.h"
#include "store/record_codec.h"
#include "store/redis_keys.h"
#include "support/behaviour.h"
#include "support/json_text.h"
#include "support/redis_cluster.h"
#include "support/scripted_upstream.h"
#include "support/waiting.h"

namespace oncekey::test {
namespace {

constexpr Milliseconds sweep_patience{15'000};

// Long enough for some hundred requests on each side of a failure.
constexpr Milliseconds some_load{1000};

class Failover : public ::testing::Test {
 protected:
  void start_gateways(const std::string& store) {
    report_.store = store.substr(0, store.find(':'));
    for (int number = 0; number < 2; ++number) {
      gateways_.push_back(std::make_unique<GatewayProcess>(GatewayProcess::Options{
          .upstream = upstream_.url(), .toml = shared_store_settings(), .store = store}));
    }
    await_service(ledger_, ports(), report_.findings);
  }

  void serve(const std::string& store, std::uint64_t seed) {
    report_.seed = seed;
    start_gateways(store);
    load_ = std::make_unique<Load>(
        ledger_, LoadOptions{.seed = seed, .gateways = 2, .pause_max = Milliseconds(10)});
    for (std::size_t number = 0; number < 2; ++number) {
      load_->point_at(number, gateways_[number]->port());
    }
    let_time_pass(some_load);
  }

  // Since `began`, the store has been without its writable machine; now it has one again.
  void expect_service(Blow blow, WallTime began) {
    Milliseconds resumed = await_service(ledger_, ports(), report_.findings);
    report_.resumed[blow].push_back(resumed);
    outages_.push_back({blow, began, std::chrono::system_clock::now()});
    let_time_pass(some_load);
  }

  void compare() {
    load_->stop();
    report_.load = load_->figures();
    for (Finding& finding : load_->findings()) report_.findings.push_back(std::move(finding));
    // Answers that gateways remember say nothing about the store.
    for (auto& gateway : gateways_) gateway->restart();
    Inquest inquest(ledger_, upstream_.audit(), outages_, report_);
    inquest.expect_all_settled(*gateways_[0], sweep_patience);
    inquest.ask_for_every_key(ports());
    inquest.compare_with_audit();
    std::cout << report_.text();
    EXPECT_GT(report_.acknowledged, 100u);
    EXPECT_TRUE(report_.violations().empty());
  }

  // A request that is at the upstream when its store's copy is cut off: neither it nor a retry at
  // any gateway may be answered as done as long as only one machine knows of it.
  void expect_no_answer(const Operation& operation, const std::function<void()>& cut_off_copy) {
    HttpConnection client(gateways_[0]->port());
    HttpRequest held = operation.request();
    client.send(held.with(std::string(behaviour_header), "hold=gate").bytes());
    ASSERT_TRUE(upstream_.audit().wait_for_arrivals(operation.key, 1));
    cut_off_copy();
    upstream_.open_gate("gate");
    EXPECT_NE(client.receive().status, 201);
    // Longer than time-outs and pauses.
    Deadline deadline = deadline_in(3 * some_load);
    while (std::chrono::steady_clock::now() < deadline) {
      for (auto& gateway : gateways_) {
        HttpResponse retry = gateway->send(operation.request());
        ASSERT_NE(retry.status, 201) << "the copy does not have this answer";
      }
    }
  }

  std::vector<std::uint16_t> ports() const { return {gateways_[0]->port(), gateways_[1]->port()}; }

  ScriptedUpstream upstream_;
  Ledger ledger_;
  CampaignReport report_;
  std::vector<Outage> outages_;
  std::vector<std::unique_ptr<GatewayProcess>> gateways_;
  std::unique_ptr<Load> load_;
};

class PostgresFailover : public Failover {
 protected:
  PostgresFailover() : first_(PostgresServer::Options{}), second_(first_, "node_b", {}) {
    follow(first_, "node_b");
    migrate(first_.url());
  }

  void follow(PostgresServer& primary, const std::string& standby) {
    primary.set("synchronous_standby_names", standby);
    primary.await_standby(standby, true);
  }

  std::string url() const {
    return "postgres://oncekey@127.0.0.1:" + std::to_string(first_.port()) +
           ",127.0.0.1:" + std::to_string(second_.port()) + "/oncekey";
  }

  PostgresServer first_;
  PostgresServer second_;
};

TEST_F(PostgresFailover, TheStandbyTakesOverWithoutALoss) {
  serve(url(), 20240201);
  WallTime began = std::chrono::system_clock::now();
  first_.kill_hard();
  second_.promote();
  expect_service(Blow::postgres_killed, began);
  // And back: the machine that failed becomes the standby, and then the primary again.
  first_.make_standby_of(second_, "node_a");
  follow(second_, "node_a");
  let_time_pass(some_load);
  began = std::chrono::system_clock::now();
  second_.kill_hard();
  first_.promote();
  expect_service(Blow::postgres_killed, began);
  compare();
}

// What only the primary has must not be answered: the primary may be the one that dies next.
TEST_F(PostgresFailover, NothingIsAcknowledgedThatTheStandbyDoesNotHave) {
  serve(url(), 20240202);
  WallTime began = std::chrono::system_clock::now();
  second_.freeze();
  let_time_pass(3 * some_load);  // several time-outs, with everything that follows them
  first_.kill_hard();
  second_.thaw();
  second_.promote();
  expect_service(Blow::postgres_killed, began);
  compare();
}

// The same, request by request: what was being recorded when the standby stopped to answer.
TEST_F(PostgresFailover, AnAnswerThatOnlyThePrimaryHasIsNotGiven) {
  start_gateways(url());
  Operation operation{"settled-on-the-primary-only", "/orders", "{}"};
  expect_no_answer(operation, [&] { second_.freeze(); });
  first_.kill_hard();
  second_.thaw();
  second_.promote();
  // The gateway goes on trying to settle, and the sweeper to end the lease: either may be first.
  HttpResponse after;
  EXPECT_TRUE(eventually([&] {
    after = gateways_[1]->send(operation.request());
    return after.header("Idempotency-Replayed") == "true" ||
           json_text(after.body, "/code") == "outcome_unknown";
  })) << after.status
      << after.body;
  EXPECT_EQ(upstream_.audit().of_key(operation.key).size(), 1u);
}

// --- Redis -------------------------------------------------------------------------------

// The replica counts as connected all the time: it is how far it has come that matters.
TEST_F(Failover, AnAnswerThatOnlyTheMasterHasIsNotGivenWithWait) {
  RedisServer master;
  RedisServer replica(RedisServer::Options{.replica_of = master.port()});
  ASSERT_TRUE(eventually([&] { return replica.info("master_link_status") == "up"; }));
  start_gateways(master.url() + "?wait=1");
  expect_no_answer({"settled-on-the-master-only", "/orders", "{}"}, [&] { replica.freeze(); });
}

class ClusterFailover : public Failover {
 protected:
  // Kills the master of one third of the slots, whose replica has been cut off for a moment, as in
  // a network that fails piece by piece; returns when the replica has the master's place.
  void lose_a_master() {
    for (const store::RedisPartition& partition : store::RedisKeys()) {
      masters_[partition.slot] = cluster_.master_of_slot(partition.slot);
    }
    killed_ = cluster_.master_of_slot(0);
    RedisServer& replica = cluster_.node(killed_ + RedisCluster::masters);
    replica.freeze();
    cluster_.node(killed_).command({"CLIENT", "KILL", "TYPE", "replica"});
    let_time_pass(cut_off);
    cluster_.node(killed_).kill_hard();
    replica.thaw();
    cluster_.await_ok();
  }

  // Replication is asynchronous, so what the replica had not received is gone: counted and printed.
  // Nothing happened to the keys of the other masters.
  void expect_losses_of_one_master_at_most() {
    store::RedisKeys keys;
    for (const std::string& lost : report_.lost_keys()) {
      std::string encoded;
      store::append_id(encoded, RecordId{.scope = "default", .key = lost});
      EXPECT_EQ(masters_.at(keys.of(encoded).slot), killed_) << lost;
    }
    RecordProperty("acknowledged", static_cast<int>(report_.acknowledged));
    RecordProperty("lost", static_cast<int>(report_.lost_keys().size()));
  }

  // Less than the time after which the others take the replica for dead (node_timeout).
  static constexpr Milliseconds cut_off{400};

  RedisCluster cluster_;
  std::map<int, std::size_t> masters_;  // by slot, before one was killed
  std::size_t killed_ = 0;
};

TEST_F(ClusterFailover, AReplicaTakesOver) {
  report_.loss_is_violation = false;
  serve(cluster_.url(), 20240203);
  WallTime began = std::chrono::system_clock::now();
  lose_a_master();
  expect_service(Blow::redis_killed, began);
  compare();
  expect_losses_of_one_master_at_most();
}

// A master without a replica acknowledges nothing: service is back with the machine that died.
TEST_F(ClusterFailover, WaitingForTheReplica) {
  serve(cluster_.url() + "?wait=1", 20240204);
  WallTime began = std::chrono::system_clock::now();
  lose_a_master();
  cluster_.node(killed_).start();
  cluster_.await_ok();
  expect_service(Blow::redis_killed, began);
  compare();
  expect_losses_of_one_master_at_most();
}

}  // namespace
}  // namespace oncekey::test
