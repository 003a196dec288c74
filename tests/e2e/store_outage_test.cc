// A shared store that goes away or hangs: refuse in bounded time, send nothing on, and be
// back within seconds of it (SPEC D7).
#include <algorithm>
#include <thread>

#include "boundary/answer.h"
#include "e2e/store_outage.h"
#include "support/command_run.h"

namespace oncekey::test {
namespace {

INSTANTIATE_TEST_SUITE_P(Stores, StoreOutage,
                         ::testing::Values(StoreKind::postgres, StoreKind::redis,
                                           StoreKind::tiered),
                         store_name);

TEST_P(StoreOutage, StoreThatIsDownIsRefusedAndComesBackWithTraffic) {
  FragileStore store(GetParam());
  serve_on(store);
  HttpResponse before = post("before-the-outage");
  EXPECT_EQ(before.status, 201);
  store.stop();
  for (int i = 0; i < 4; ++i) expect_refused(key_a, answer_limit);
  expect_down();
  expect_refused(key_a, answer_limit);
  store.start();
  expect_back();
  EXPECT_EQ(post("before-the-outage").body, before.body);
  EXPECT_EQ(arrivals("before-the-outage"), 1u);
}

TEST_P(StoreOutage, StatusDoesNotTakeRecordsThatCannotBeCountedForNone) {
  FragileStore store(GetParam());
  serve_on(store);
  const auto status = [&](const std::string& format) {
    std::vector<std::string> words{"status", "--admin",
                                   "http://127.0.0.1:" + std::to_string(gateway_->admin_port())};
    if (!format.empty()) words.push_back(format);
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit_code, 0) << run.all();
    return run.out;
  };
  EXPECT_EQ(json_at(status("--json"), "/records/in_progress"), "0");
  EXPECT_EQ(json_at(status("--json"), "/unknown/count"), "0");
  EXPECT_EQ(status("").find("not known"), std::string::npos) << status("");
  store.stop();
  const std::string unanswered = status("--json");  // it is not known to be down yet
  EXPECT_FALSE(json_at(unanswered, "/records")) << unanswered;
  EXPECT_FALSE(json_at(unanswered, "/unknown/count")) << unanswered;
  for (int i = 0; i < 4; ++i) expect_refused(key_a, answer_limit);
  expect_down();
  const std::string down = status("--json");
  EXPECT_FALSE(json_at(down, "/records")) << down;
  EXPECT_FALSE(json_at(down, "/unknown/count")) << down;
  const std::string figures = gateway_->admin("/metrics").body;
  EXPECT_EQ(figures.find("oncekey_records_"), std::string::npos) << figures;
  EXPECT_NE(status("").find("not known"), std::string::npos) << status("");
}

TEST_P(StoreOutage, FrozenStoreIsRefusedInBoundedTimeAndThenAtOnce) {
  FragileStore store(GetParam());
  serve_on(store);
  EXPECT_EQ(post("before-the-outage").status, 201);
  store.freeze();
  std::vector<HttpResponse> crowd =
      storm(gateway_->port(), order("in-the-crowd-00001").bytes(), 200, answer_limit);
  for (const HttpResponse& answer : crowd) EXPECT_EQ(answer.status, 503) << answer.failure;
  EXPECT_EQ(arrivals("in-the-crowd-00001"), 0u);
  expect_down();
  // Unless it is the one that tries the store, a request does not wait for it.
  std::size_t quick = 0;
  for (int i = 0; i < 4; ++i) {
    const auto start = std::chrono::steady_clock::now();
    expect_refused(key_a, answer_limit);
    if (std::chrono::steady_clock::now() - start < at_once) ++quick;
  }
  EXPECT_GE(quick, 2u);
  store.thaw();
  expect_back();
  EXPECT_EQ(post("in-the-crowd-00001").status, 201);
  EXPECT_EQ(arrivals("in-the-crowd-00001"), 1u);
}

TEST_P(StoreOutage, AnswersInMemoryAreReplayedHoweverOldWhileTheStoreIsAway) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string("replay_trust = \"0s\"\n") + short_patience);
  const HttpResponse first = post("before-the-outage");
  EXPECT_EQ(post("before-the-outage").header("Idempotency-Replayed"), "true");
  EXPECT_EQ(gateway_->metric("oncekey_cache_replays_total"), 0) << "the store is there to be asked";
  store.freeze();
  for (int i = 0; i < 4; ++i) {
    const HttpResponse replayed = post("before-the-outage");
    EXPECT_EQ(replayed.body, first.body);
    EXPECT_EQ(replayed.header("Idempotency-Replayed"), "true");
  }
  const HttpRequest another = order("before-the-outage", "", "{\"amount\":2}");
  EXPECT_EQ(code(gateway_->send(another)), "store_unavailable");
  expect_refused(key_a, answer_limit);
  store.thaw();
  expect_back();
  EXPECT_EQ(post("before-the-outage").body, first.body);
  EXPECT_EQ(arrivals("before-the-outage"), 1u);
}

TEST_P(StoreOutage, StoreThatIsBackIsFoundWithoutTraffic) {
  FragileStore store(GetParam());
  serve_on(store);
  store.stop();
  for (int i = 0; i < 4; ++i) expect_refused(key_a, answer_limit);
  expect_down();
  store.start();
  EXPECT_TRUE(eventually([&] { return gateway_->admin("/readyz").status == 200; }, recovery_limit));
}

TEST_P(StoreOutage, OutcomeThatCannotBeRecordedIsRecordedLater) {
  FragileStore store(GetParam());
  serve_on(store);
  auto client = post_held(key_a, "gate");
  store.stop();
  upstream_.open_gate("gate");
  HttpResponse first = client->receive();
  EXPECT_EQ(code(first), "store_unavailable") << "an answer went out whose record is not durable";
  store.start();
  HttpResponse retry;
  EXPECT_TRUE(eventually(
      [&] {
        retry = post(key_a);
        return retry.status == 201;
      },
      recovery_limit))
      << retry.body;
  EXPECT_EQ(retry.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_P(StoreOutage, RouteThatFailsOpenIsServedUnprotectedAndSaysSo) {
  FragileStore store(GetParam());
  serve_on(store, "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  EXPECT_EQ(post("before-the-outage").header("Idempotency-Protected"), "");
  store.freeze();
  HttpResponse unprotected = post(key_a);
  EXPECT_EQ(unprotected.status, 201) << unprotected.body;
  EXPECT_EQ(unprotected.header("Idempotency-Protected"), "false");
  EXPECT_EQ(json_text(gateway_->log_line("/event", "fail_open"), "/key"), key_a);
  EXPECT_EQ(gateway_->metric("oncekey_fail_open_total"), 1);
  store.thaw();
  // Whatever the frozen store made of the reservation has been taken back: the key is free.
  HttpResponse after;
  EXPECT_TRUE(eventually(
      [&] {
        after = post(key_b);
        return after.header("Idempotency-Expires") != "";
      },
      recovery_limit));
  after = post(key_a);
  EXPECT_NE(after.header("Idempotency-Expires"), "") << after.body;
  EXPECT_EQ(arrivals(key_a), 2u) << "the documented price";
}

// Their reservations fail together, and each thread hears of it at the same moment.
TEST_P(StoreOutage, OfManyDuplicatesAtOnceOneIsSentOnUnprotected) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string("threads = 4\n") + short_patience +
                                   "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  store.freeze();
  constexpr std::size_t count = 200;
  std::vector<HttpResponse> answers;
  std::thread crowd([&] {
    answers = storm(gateway_->port(), order(key_a, "hold=gate").bytes(), count, answer_limit);
  });
  EXPECT_TRUE(eventually(
      [&] { return gateway_->metric("oncekey_requests_total", "unavailable") >= count - 1; }));
  upstream_.open_gate("gate");
  crowd.join();
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(std::count_if(answers.begin(), answers.end(),
                          [](const HttpResponse& answer) { return answer.status == 201; }),
            1);
}

// Their limits cannot be checked without the store, and need not be: a replay uses nothing up.
TEST_P(StoreOutage, WhatIsKnownIsRepeatedAlsoWhereANewKeyWouldBeRefused) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string("replay_trust = \"0s\"\n") + short_patience +
                                   "[limits]\nnew_keys_per_second = 1\nnew_keys_burst = 1\n");
  const HttpResponse first = post(key_a);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(post(key_a).body, first.body);
  store.freeze();
  EXPECT_EQ(code(post(key_b)), "store_unavailable");
  for (int i = 0; i < 4; ++i) {
    const HttpResponse replayed = post(key_a);
    EXPECT_EQ(replayed.body, first.body);
    EXPECT_EQ(replayed.header("Idempotency-Replayed"), "true");
  }
  EXPECT_EQ(arrivals(key_b), 0u);
}

TEST_P(StoreOutage, LiveKeysAreNotCountedWhereARouteFailsOpen) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string(short_patience) +
                                   "[limits]\nlive_keys_max = 100\n"
                                   "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  store.freeze();
  const HttpResponse unprotected = post(key_a);
  EXPECT_EQ(unprotected.status, 201) << unprotected.body;
  EXPECT_EQ(unprotected.header("Idempotency-Protected"), "false");
}

TEST_P(StoreOutage, NewKeysKeepToTheirRateWhereARouteFailsOpen) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string(short_patience) +
                                   "[limits]\nlive_keys_max = 100\nnew_keys_per_second = 1\n"
                                   "new_keys_burst = 1\n"
                                   "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  store.freeze();
  const auto send = [&](int i) { return post("in-the-outage-" + std::to_string(1000 + i)); };
  EXPECT_EQ(send(0).header("Idempotency-Protected"), "false");
  int refused = 0;
  for (int i = 1; i <= 8; ++i) refused += send(i).status == 503;
  EXPECT_GT(refused, 0) << "as many were sent on as came";
}

TEST_P(StoreOutage, WhatIsRepeatedDoesNotUseUpTheRateOfWhatFailsOpen) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), std::string("replay_trust = \"0s\"\n") + short_patience +
                                   "[limits]\nnew_keys_per_second = 1\nnew_keys_burst = 40\n"
                                   "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  const HttpResponse first = post("before-the-outage");
  EXPECT_EQ(post("before-the-outage").header("Idempotency-Replayed"), "true");
  store.freeze();
  for (int i = 0; i < 35; ++i) EXPECT_EQ(post("before-the-outage").body, first.body);
  for (int i = 0; i < 30; ++i) {
    const HttpResponse sent = post("in-the-outage-" + std::to_string(1000 + i));
    EXPECT_EQ(sent.header("Idempotency-Protected"), "false") << i << ": " << sent.body;
  }
}

TEST_P(StoreOutage, DuplicateOfARunningRequestIsNeverSentOn) {
  FragileStore store(GetParam());
  serve_on(store,
           "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\non_inflight = \"wait\"\n");
  auto first = post_held(key_a, "gate");
  HttpConnection duplicate(gateway_->port());
  duplicate.send(order(key_a).bytes());
  // It has been told by the store that the first is running.
  EXPECT_TRUE(eventually([&] { return gateway_->metric("oncekey_store_operations_total") > 2; }));
  store.stop();
  EXPECT_EQ(code(duplicate.receive()), "store_unavailable");
  EXPECT_EQ(arrivals(key_a), 1u);
  upstream_.open_gate("gate");
}

TEST_P(StoreOutage, WhatThisGatewayIsAtWorkOnIsNeverSentOnASecondTime) {
  FragileStore store(GetParam());
  serve_on(store, "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\n");
  auto first = post_held(key_a, "gate");
  store.stop();
  EXPECT_EQ(code(post(key_a)), "store_unavailable") << "while the first is at the upstream";
  upstream_.open_gate("gate");
  EXPECT_EQ(code(first->receive()), "store_unavailable");
  EXPECT_EQ(code(post(key_a)), "store_unavailable") << "while its result is not recorded";
  EXPECT_EQ(arrivals(key_a), 1u);
  auto unprotected = post_held(key_b, "another");
  EXPECT_EQ(code(post(key_b)), "store_unavailable") << "while the first is at the upstream";
  upstream_.open_gate("another");
  EXPECT_EQ(unprotected->receive().header("Idempotency-Protected"), "false");
  store.start();
  EXPECT_TRUE(eventually([&] { return post(key_a).header("Idempotency-Replayed") == "true"; },
                         recovery_limit));
  EXPECT_EQ(arrivals(key_a), 1u);
}

class HeldRecord : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, HeldRecord, ::testing::Values(StoreKind::postgres), store_name);

// The store can be read, and says nothing to a reservation.
TEST_P(HeldRecord, WhatIsTooOldIsNotSentOnUnprotected) {
  const std::string url = fresh_store(GetParam());
  const std::string route =
      "[[route]]\nmatch = \"POST,PATCH *\"\nfail_open = true\nmax_age = \"5m\"\n";
  gateway_ = node(url, short_patience + route);
  const auto then = std::chrono::system_clock::now() - std::chrono::seconds(295);
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(then.time_since_epoch());
  const auto request = [&](const std::string& key) {
    return order(key).with("Repeatability-First-Sent", format_rfc3339(ms.count()));
  };
  EXPECT_EQ(gateway_->send(request(key_a)).status, 201);
  int tries = 0;
  EXPECT_TRUE(eventually([&] {
    return gateway_->send(request("key-of-try-number-" + std::to_string(++tries))).status == 412;
  }));
  PostgresClient somebody(url);
  somebody.execute("BEGIN; UPDATE oncekey.records SET owner = owner");
  other_ = node(url, short_patience + route);
  EXPECT_EQ(code(other_->send(request(key_a))), "store_unavailable");
  somebody.execute("ROLLBACK");
  EXPECT_TRUE(eventually(
      [&] { return other_->send(request(key_a)).header("Idempotency-Replayed") == "true"; }));
  EXPECT_EQ(arrivals(key_a), 1u);
}

// One that another session is making, and has not committed.
TEST_P(HeldRecord, WhatSomebodyIsAtWorkOnIsNotSentOnUnprotectedAndOthersAreServed) {
  const std::string url = fresh_store(GetParam());
  gateway_ =
      node(url, short_patience + std::string("[[route]]\nmatch = \"POST *\"\nfail_open = true\n"));
  EXPECT_EQ(post(key_b).status, 201);
  PostgresClient somebody(url);
  somebody.execute("BEGIN");
  somebody.execute(
      "INSERT INTO oncekey.records (created_at, due_at, shelf_until, fence,"
      " retention_ms, tombstone_ms, state, attempt, scope, key, fingerprint, method,"
      " path, owner) SELECT created_at, due_at, shelf_until, 7, retention_ms,"
      " tombstone_ms, 'in_progress', 1, scope, '" +
      std::string(key_a) + "', fingerprint, method, path, owner FROM oncekey.records");
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(code(post(key_a)), "store_unavailable");
    EXPECT_NE(post("of-somebody-else-" + std::to_string(i)).header("Idempotency-Expires"), "");
  }
  EXPECT_EQ(arrivals(key_a), 0u);
  EXPECT_EQ(gateway_->metric("oncekey_store_breaker_opens_total"), 0);
  somebody.execute("ROLLBACK");
  EXPECT_EQ(post(key_a).status, 201);
}

class RoleWithoutRights : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, RoleWithoutRights, ::testing::Values(StoreKind::postgres),
                         store_name);

TEST_P(RoleWithoutRights, BackgroundWorkThatKeepsFailingIsToldOfOnceAndWhenItWorksAgain) {
  FragileStore store(GetParam());
  gateway_ = node(store.url());
  PostgresServer& server = store.postgres();
  server.execute("ALTER FUNCTION oncekey.sweep_batch RENAME TO sweep_batch_aside");
  EXPECT_TRUE(eventually([&] { return gateway_->log_line("/event", "role_failed") != ""; }));
  const std::string told = gateway_->log_line("/event", "role_failed");
  EXPECT_EQ(json_text(told, "/role"), "sweeper") << told;
  EXPECT_NE(json_text(told, "/reason").find("sweep_batch"), std::string::npos) << told;
  EXPECT_GE(gateway_->metric("oncekey_role_failures_total{role=\"sweeper\"}"), 3);
  server.execute("ALTER FUNCTION oncekey.sweep_batch_aside RENAME TO sweep_batch");
  EXPECT_TRUE(eventually([&] { return gateway_->log_line("/event", "role_works_again") != ""; }));
}

class UncountedKeys : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, UncountedKeys, ::testing::Values(StoreKind::postgres), store_name);

// No limit was reached, so none may be claimed.
TEST_P(UncountedKeys, NewOneIsTurnedAwayAsLongAsTheStoreDoesNotTellHowManyThereAre) {
  FragileStore store(GetParam());
  gateway_ = node(store.url(), "[limits]\nlive_keys_max = 100\n");
  // Counting and looking read this column, and reserving does not.
  PostgresServer& server = store.postgres();
  server.execute("ALTER TABLE oncekey.records RENAME COLUMN recovery_point TO of_another_version");
  const HttpResponse refused = post(key_a);
  EXPECT_EQ(code(refused), "store_unavailable") << refused.body;
  EXPECT_EQ(arrivals(key_a), 0u);
  server.execute("ALTER TABLE oncekey.records RENAME COLUMN of_another_version TO recovery_point");
  EXPECT_TRUE(eventually([&] { return post(key_a).status == 201; }));
  EXPECT_EQ(arrivals(key_a), 1u);
}

// Its owner may still record a result until then.
TEST_P(RoleWithoutRights, LeaseThatIsOverIsInFlightUntilItIsSwept) {
  FragileStore store(GetParam());
  const std::string short_lease =
      "[[route]]\nmatch = \"POST,PATCH *\"\nlease = \"3s\"\nupstream_timeout = \"2900ms\"\n";
  gateway_ = node(store.url(), short_lease);
  other_ = node(store.url(), short_lease);
  PostgresServer& server = store.postgres();
  server.execute("ALTER FUNCTION oncekey.sweep_batch RENAME TO sweep_batch_aside");
  auto client = post_held(key_a, "gate");
  gateway_->process().signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] {
    return server.query("SELECT due_at < clock_timestamp() FROM oncekey.records") == "t";
  }));
  EXPECT_EQ(code(other_->send(order(key_a))), "request_in_flight");
  server.execute("ALTER FUNCTION oncekey.sweep_batch_aside RENAME TO sweep_batch");
  EXPECT_EQ(json_text(other_->log_line("/event", "lease_over"), "/key"), key_a);
  EXPECT_EQ(code(other_->send(order(key_a))), "outcome_unknown");
  gateway_->process().signal(SIGCONT);
  upstream_.open_gate("gate");
  EXPECT_EQ(code(client->receive()), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

}  // namespace
}  // namespace oncekey::test
