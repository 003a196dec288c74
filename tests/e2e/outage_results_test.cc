// What gateways know when their store comes back: results are recorded before anybody gives them
// up, and reservations that were never used are taken back.
#include <signal.h>

#include "e2e/store_outage.h"

namespace oncekey::test {
namespace {

// The gateway has the results, and the leases are over when the store is back.
class ResultsOfAnOutage : public StoreOutage {
 protected:
  // `store` goes and comes back as told.
  template <class Go, class Return>
  void live_through(FragileStore& store, const Go& go, const Return& come_back) {
    // Long enough for a slow machine to stop the store before the upstream's time is up.
    constexpr Milliseconds lease{4'000};
    const std::string routes =
        "[[route]]\nmatch = \"POST,PATCH *\"\nupstream_timeout = \"3900ms\"\nlease = \"" +
        std::to_string(lease.count()) + "ms\"\n";
    serve_on(store, routes);
    std::vector<std::unique_ptr<HttpConnection>> clients;
    for (int i = 0; i < 8; ++i) keys_.push_back("while-it-runs-" + std::to_string(1000 + i));
    for (const std::string& key : keys_) clients.push_back(post_held(key, "gate"));
    const Deadline leases_over = deadline_in(lease);
    go();
    upstream_.open_gate("gate");
    for (auto& client : clients) EXPECT_EQ(code(client->receive()), "store_unavailable");
    EXPECT_TRUE(eventually([&] { return std::chrono::steady_clock::now() > leases_over; }));
    come_back();
  }
  void expect_replays() {
    for (const std::string& key : keys_) {
      HttpResponse retry;
      EXPECT_TRUE(eventually(
          [&] {
            retry = post(key);
            return retry.status == 201 || code(retry) == "outcome_unknown";  // which would stay so
          },
          recovery_limit));
      EXPECT_EQ(retry.header("Idempotency-Replayed"), "true") << retry.body;
      EXPECT_EQ(arrivals(key), 1u);
    }
  }

  std::vector<std::string> keys_;
};
INSTANTIATE_TEST_SUITE_P(Stores, ResultsOfAnOutage,
                         ::testing::Values(StoreKind::postgres, StoreKind::redis,
                                           StoreKind::tiered),
                         store_name);

TEST_P(ResultsOfAnOutage, AreRecordedBeforeLeasesThatEndedInItAreSwept) {
  FragileStore store(GetParam());
  live_through(
      store, [&] { store.stop(); }, [&] { store.start(); });
  expect_replays();
}

TEST_P(ResultsOfAnOutage, AreInTheLogOfAGatewayThatIsToldToEndInIt) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string(short_patience) + "grace = \"100ms\"\n");
  auto client = post_held(key_a, "gate");
  store.stop();
  upstream_.open_gate("gate");
  EXPECT_EQ(code(client->receive()), "store_unavailable");
  gateway_->stop();
  const std::string told = gateway_->log_line("/event", "result_not_recorded");
  EXPECT_EQ(json_text(told, "/key"), key_a);
  EXPECT_EQ(json_text(told, "/outcome"), "completed");
  EXPECT_EQ(json_text(told, "/upstream_status"), "201");
  EXPECT_EQ(gateway_->process().output().find("settled_late"), std::string::npos);
}

// One that has no requests hears of the outage from its own sweeps alone; one that is started
// afterwards, not at all.
TEST_P(ResultsOfAnOutage, AreRecordedBeforeOtherNodesSweepTheirLeases) {
  FragileStore store(GetParam());
  Gateway idle = node(store.url(), short_patience);
  Gateway late;
  live_through(
      store, [&] { store.stop(); },
      [&] {
        store.start();
        late = node(store.url(), short_patience);
      });
  expect_replays();
}

// What the server was sent before it stood still, it does afterwards.
TEST_P(ResultsOfAnOutage, AreRecordedBeforeAFrozenStoreSweeps) {
  FragileStore store(GetParam());
  live_through(
      store, [&] { store.freeze(); }, [&] { store.thaw(); });
  expect_replays();
}

class ResultsOfARefusal : public ResultsOfAnOutage {};
INSTANTIATE_TEST_SUITE_P(Stores, ResultsOfARefusal, ::testing::Values(StoreKind::redis),
                         store_name);

// It answers all the time, so that who has no requests hears of it from its own sweeps alone, and
// that it takes writes again from none.
TEST_P(ResultsOfARefusal, AreRecordedBeforeOtherNodesSweepTheirLeases) {
  FragileStore store(GetParam());
  Gateway idle = node(store.url(), short_patience);
  const auto may_use = [&](const char* bytes) {
    store.redis().command({"CONFIG", "SET", "maxmemory", bytes});
  };
  live_through(
      store, [&] { may_use("1"); },
      [&] {
        EXPECT_NE(idle->log_line("/event", "role_failed"), "");
        may_use("0");
      });
  expect_replays();
  EXPECT_NE(idle->log_line("/event", "role_works_again"), "");
}

class ResultsBesideAWorker : public ResultsOfAnOutage {};
INSTANTIATE_TEST_SUITE_P(Stores, ResultsBesideAWorker, ::testing::Values(StoreKind::postgres),
                         store_name);

TEST_P(ResultsBesideAWorker, AreRecordedBeforeItSweepsTheirLeases) {
  FragileStore store(GetParam());
  const TemporaryFolder folder;
  const std::string config = folder.write(
      "worker.toml", "[[sink]]\nname = \"nobody\"\nurl = \"" + upstream_.url() + "\"\n");
  Process worker({oncekey_binary(), "worker", "--config", config, "--database", store.url(),
                  "--admin", "127.0.0.1:0"});
  ASSERT_TRUE(worker.wait_for_line([](const std::string& line) {
    return json_text(line, "/event") == "delivering";
  })) << worker.output();
  live_through(
      store, [&] { store.stop(); }, [&] { store.start(); });
  expect_replays();
}

class ShutdownInDoubt : public StoreOutage {};
INSTANTIATE_TEST_SUITE_P(Stores, ShutdownInDoubt, ::testing::Values(StoreKind::postgres),
                         store_name);

// Nothing was sent for it, so it must not end as an unknown outcome that somebody has to look at.
TEST_P(ShutdownInDoubt, WaitsUntilWhatTheStoreMayHaveReservedIsTakenBack) {
  FragileStore store(GetParam());
  serve_on(store);
  store.postgres().set("synchronous_standby_names", "nobody");  // commits wait for it
  EXPECT_TRUE(eventually([&] { return code(post(key_a)) == "store_unavailable"; }));
  EXPECT_TRUE(eventually([&] {
    return store.postgres().query(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") != "0";
  }));
  gateway_->process().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return gateway_->admin("/readyz").status == 503; }));
  store.postgres().set("synchronous_standby_names", "");
  EXPECT_EQ(gateway_->process().wait(), 0) << gateway_->process().output();
  EXPECT_EQ(store.postgres().query("SELECT count(*) FROM oncekey.records"),
            std::to_string(arrivals(key_a)));
}

}  // namespace
}  // namespace oncekey::test
