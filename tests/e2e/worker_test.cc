// `oncekey worker` delivers at least once, with the same id and key each time, whatever dies.
#include <signal.h>

#include <set>

#include "e2e/worker_fixture.h"
#include "oncekey/crash_point.h"

namespace oncekey::test {
namespace {

class Worker : public WorkerFixture {};

INSTANTIATE_TEST_SUITE_P(Databases, Worker,
                         testing::Values(OutboxKind::sqlite, OutboxKind::postgres),
                         [](const auto& kind) { return name_of(kind.param); });

TEST_P(Worker, DeliversEachMessageOnceWhenNothingFails) {
  for (int i = 0; i < 20; ++i) enqueue("key-" + std::to_string(i));
  const auto once = worker("", {"--once"});
  ASSERT_EQ(once->wait(), 0) << once->output();
  const auto counts = once->wait_for_line(
      [](const std::string& line) { return json_at(line, "/claimed").has_value(); });
  ASSERT_TRUE(counts) << once->output();
  EXPECT_EQ(json_text(*counts, "/delivered"), "20");
  std::set<std::string> ids;
  for (int i = 0; i < 20; ++i) {
    const auto got = arrivals("key-" + std::to_string(i));
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].request.body, "{\"key\":\"key-" + std::to_string(i) + "\"}");
    ids.insert(got[0].request.header("Oncekey-Message-Id"));
  }
  EXPECT_EQ(ids.size(), 20u);
}

TEST_P(Worker, WakesWhenATransactionCommits) {
  worker_settings = "poll = \"60s\"\n";
  const auto process = worker();
  ASSERT_TRUE(log_line(*process, "delivering")) << process->output();
  enqueue("first");
  ASSERT_TRUE(receiver_.audit().wait_for_arrivals("first", 1)) << process->output();
  ASSERT_TRUE(log_line(*process, "delivered"));
  enqueue("second");
  EXPECT_TRUE(receiver_.audit().wait_for_arrivals("second", 1)) << process->output();
}

// Every step of the worker, from the list of all steps.
TEST_P(Worker, KilledAtAnyStepTheNextOneDeliversWithTheSameIdAndKey) {
  int round = 0;
  for (const CrashPointName& step : crash_points()) {
    if (!step.name.starts_with("worker-")) continue;
    SCOPED_TRACE(step.name);
    const std::string key = "key-" + std::to_string(round++);
    const bool slow = step.point == CrashPoint::worker_extended;
    enqueue(key + "-refused", {.behaviour = "status=503 first=1"});
    enqueue(key, {.behaviour = slow ? "hold=" + key : ""});
    const auto killed = worker(std::string(step.name));
    ASSERT_EQ(killed->wait(), 128 + SIGKILL) << killed->output();
    receiver_.open_gate(key);
    const auto next = worker();
    ASSERT_TRUE(all_is_delivered()) << next->output();
    for (const std::string& each : {key, key + "-refused"}) {
      std::set<std::string> ids;
      std::set<std::string> bodies;
      for (const Arrival& arrival : arrivals(each)) {
        ids.insert(arrival.request.header("Oncekey-Message-Id"));
        bodies.insert(arrival.request.body);
      }
      EXPECT_EQ(ids.size(), 1u) << each;
      EXPECT_EQ(bodies.size(), 1u) << each;
    }
    next->signal(SIGTERM);
    EXPECT_EQ(next->wait(), 0) << next->output();
  }
  EXPECT_GE(round, 6);
}

TEST_P(Worker, KilledAfterDeliveryBeforeRecordingDeliversAgain) {
  enqueue("charged");
  const auto killed = worker("worker-delivered");
  ASSERT_EQ(killed->wait(), 128 + SIGKILL) << killed->output();
  ASSERT_EQ(arrivals("charged").size(), 1u);
  const auto next = worker();
  ASSERT_TRUE(all_is_delivered()) << next->output();
  const auto got = arrivals("charged");
  ASSERT_EQ(got.size(), 2u);
  EXPECT_EQ(got[0].request.header("Oncekey-Message-Id"),
            got[1].request.header("Oncekey-Message-Id"));
  EXPECT_EQ(got[1].request.header("Idempotency-Attempt"), "2");
}

TEST_P(Worker, RecordedMessageIsNotDeliveredAgainAfterAKill) {
  enqueue("charged");
  const auto killed = worker("worker-recorded");
  ASSERT_EQ(killed->wait(), 128 + SIGKILL) << killed->output();
  enqueue("another");
  const auto next = worker();
  ASSERT_TRUE(all_is_delivered()) << next->output();
  EXPECT_EQ(arrivals("charged").size(), 1u);
  EXPECT_EQ(arrivals("another").size(), 1u);
}

TEST_P(Worker, PoisonReachesTheDeadLettersAndHoldsUpNobody) {
  sink_settings = "attempts_max = 3\n";
  enqueue("poison", {.behaviour = "status=500"});
  enqueue("refused", {.behaviour = "status=422"});
  for (int i = 0; i < 10; ++i) enqueue("good-" + std::to_string(i));
  const auto process = worker();
  ASSERT_TRUE(all_is_delivered()) << process->output();
  EXPECT_EQ(queue()->stats()->dead, 2u);
  EXPECT_EQ(arrivals("poison").size(), 3u);
  EXPECT_EQ(arrivals("refused").size(), 1u);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(arrivals("good-" + std::to_string(i)).size(), 1u);
  const auto line = log_line(*process, "dead_letter");
  ASSERT_TRUE(line);
  EXPECT_NE(json_text(*line, "/error"), "");
}

TEST_P(Worker, OrderOfAnAggregateIsKeptUnderFailures) {
  for (int i = 0; i < 5; ++i) {
    enqueue("a-" + std::to_string(i),
            {.behaviour = i % 2 == 0 ? "status=503 first=2" : "", .aggregate = "order a"});
    enqueue("b-" + std::to_string(i), {.aggregate = "order b"});
  }
  const auto process = worker();
  ASSERT_TRUE(all_is_delivered()) << process->output();
  for (const std::string& aggregate : {std::string("a-"), std::string("b-")}) {
    int last = 0;
    for (const Arrival& arrival : receiver_.audit().all()) {
      if (!arrival.key.starts_with(aggregate)) continue;
      const int number = std::stoi(arrival.key.substr(2));
      EXPECT_GE(number, last) << aggregate;
      EXPECT_LE(number, last + 1) << aggregate;
      last = number;
    }
    EXPECT_EQ(last, 4) << aggregate;
  }
}

TEST_P(Worker, ClaimsOfAKilledWorkerAreTakenOver) {
  enqueue("held", {.behaviour = "hold=gate"});
  const auto first = worker();
  ASSERT_TRUE(receiver_.audit().wait_for_arrivals("held", 1)) << first->output();
  const auto second = worker();
  ASSERT_TRUE(log_line(*second, "delivering"));
  first->signal(SIGKILL);
  first->wait();
  receiver_.open_gate("gate");
  ASSERT_TRUE(receiver_.audit().wait_for_arrivals("held", 2)) << second->output();
  EXPECT_TRUE(all_is_delivered());
}

TEST_P(Worker, TwoWorkersShareTheWork) {
  worker_settings = "lease = \"30s\"\npoll = \"100ms\"\n";  // neither takes over from the other
  for (int i = 0; i < 200; ++i) enqueue("key-" + std::to_string(i));
  const auto one = worker();
  const auto two = worker();
  ASSERT_TRUE(all_is_delivered()) << one->output() << two->output();
  for (int i = 0; i < 200; ++i) EXPECT_EQ(arrivals("key-" + std::to_string(i)).size(), 1u);
}

TEST_P(Worker, SignalLetsDeliveriesUnderWayFinish) {
  sink_settings = "in_flight_max = 1\n";
  enqueue("first", {.behaviour = "hold=gate"});
  enqueue("second");
  const auto process = worker();
  ASSERT_TRUE(receiver_.audit().wait_for_arrivals("first", 1)) << process->output();
  const auto second_is = [&](const std::string& state) {
    return eventually([&] { return queue()->list({})->at(1).state == state; });
  };
  ASSERT_TRUE(second_is("claimed"));
  process->signal(SIGTERM);
  ASSERT_TRUE(log_line(*process, "draining"));
  ASSERT_TRUE(second_is("waiting")) << "it had not begun, so it goes back at once";
  receiver_.open_gate("gate");
  ASSERT_EQ(process->wait(), 0) << process->output();
  const auto line = log_line(*process, "stopped");
  ASSERT_TRUE(line);
  EXPECT_EQ(json_text(*line, "/delivered"), "1");
  EXPECT_EQ(arrivals("first").size(), 1u);
  EXPECT_EQ(arrivals("second").size(), 0u);
  EXPECT_EQ(queue()->stats()->waiting, 1u);
}

TEST_P(Worker, RetryAfterIsHonoured) {
  enqueue("later", {.behaviour = "status=429 retry-after=1 first=1"});
  const auto process = worker();
  ASSERT_TRUE(receiver_.audit().wait_for_arrivals("later", 2)) << process->output();
  const auto got = arrivals("later");
  EXPECT_GE(got[1].time - got[0].time, std::chrono::seconds(1));
}

TEST_P(Worker, UnknownDestinationIsADeadLetterAndALogLine) {
  enqueue("lost", {.destination = "nowhere"});
  const auto once = worker("", {"--once"});
  ASSERT_EQ(once->wait(), 0) << once->output();
  const auto line = log_line(*once, "dead_letter");
  ASSERT_TRUE(line) << once->output();
  EXPECT_EQ(json_text(*line, "/destination"), "nowhere");
  EXPECT_EQ(json_text(*line, "/error"),
            "no sink is named \"nowhere\" in this worker's configuration");
  EXPECT_EQ(queue()->stats()->dead, 1u);
}

TEST_P(Worker, HealthAndMetricsAreOnThePortForOperators) {
  sink_settings = "attempts_max = 1\n";
  enqueue("good");
  enqueue("bad", {.behaviour = "status=500"});
  const auto process = worker();
  const auto line = log_line(*process, "delivering");
  ASSERT_TRUE(line) << process->output();
  const std::string address = json_text(*line, "/admin");
  const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  ASSERT_TRUE(all_is_delivered());
  const auto get = [&](const std::string& target) {
    HttpRequest request;
    request.method = "GET";
    request.target = target;
    return exchange(port, request);
  };
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/readyz").status, 200);
  EXPECT_EQ(get("/nothing").status, 404);
  EXPECT_TRUE(eventually([&] {
    const std::string text = get("/metrics").body;
    return text.find("\noncekey_worker_delivered_total 1\n") != std::string::npos &&
           text.find("\noncekey_worker_dead_total 1\n") != std::string::npos;
  }));
  EXPECT_EQ(get("/metrics").body.find("good"), std::string::npos);
}

TEST(WorkerOutage, DeliversAgainWhenItsDatabaseIsBack) {
  PostgresServer server;
  const std::string url = server.url();
  migrate(url);
  ScriptedUpstream receiver;
  TemporaryFolder folder;
  const std::string file = folder.write(
      "oncekey.toml", "[[sink]]\nname = \"provider\"\nurl = \"" + receiver.url() + "\"\n");
  const auto enqueue = [&](const std::string& key) {
    PostgresClient(url).execute("SELECT oncekey.enqueue('provider', '{}', '" + key + "')");
  };
  enqueue("before");
  Process process(
      {oncekey_binary(), "worker", "--config", file, "--database", url, "--admin", "127.0.0.1:0"});
  ASSERT_TRUE(receiver.audit().wait_for_arrivals("before", 1)) << process.output();
  const auto logged = [&](const std::string& event) {
    return process.wait_for_line(
        [&](const std::string& line) { return json_text(line, "/event") == event; });
  };
  server.stop_fast();
  ASSERT_TRUE(logged("outbox_unavailable")) << process.output();
  server.start();
  ASSERT_TRUE(logged("outbox_available")) << process.output();
  enqueue("after");
  ASSERT_TRUE(receiver.audit().wait_for_arrivals("after", 1)) << process.output();
  process.signal(SIGTERM);
  EXPECT_EQ(process.wait(), 0) << process.output();
}

TEST(WorkerCommand, DeliversTheOutboxOfAStoreWithRedisInFront) {
  const std::string store = fresh_store(StoreKind::tiered);
  PostgresClient(store.substr(0, store.find('+')))
      .execute("SELECT oncekey.enqueue('provider', '{}', 'message')");
  ScriptedUpstream receiver;
  TemporaryFolder folder;
  const std::string file = folder.write(
      "oncekey.toml", "store = \"" + store + "\"\n[[sink]]\nname = \"provider\"\nurl = \"" +
                          receiver.url() + "\"\n");
  Process process({oncekey_binary(), "worker", "--config", file, "--once"});
  EXPECT_EQ(process.wait(), 0) << process.output();
  EXPECT_EQ(receiver.audit().of_key("message").size(), 1u) << process.output();
}

TEST(WorkerCommand, MistakesAreSaidBeforeAnythingIsDone) {
  const auto output_of = [](const std::vector<std::string>& arguments, int code) {
    std::vector<std::string> words = {oncekey_binary(), "worker"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    Process process(words);
    EXPECT_EQ(process.wait(), code) << process.output();
    return process.output();
  };
  TemporaryFolder folder;
  const auto with = [&](const std::string& toml) {
    return output_of({"--config", folder.write("oncekey.toml", toml), "--database",
                      "sqlite:" + (folder.path() / "none.db").string()},
                     2);
  };
  EXPECT_NE(with("").find("no sink is configured"), std::string::npos);
  EXPECT_NE(with("[[sink]]\nurl = \"http://127.0.0.1:1/\"\n").find("name is missing"),
            std::string::npos);
  EXPECT_NE(with("[[sink]]\nname = \"a\"\nurl = \"ftp://h/\"\n").find("oncekey.toml:3:7: url: "),
            std::string::npos);
  EXPECT_NE(with("[[sink]]\nname = \"a\"\nurl = \"http://h/\"\nsecrets = [\"whsec_abc\"]\n")
                .find("4:12: secrets: the secret is not whsec_"),
            std::string::npos);
  EXPECT_NE(with("[[sink]]\nname = \"a\"\nurl = \"http://h/\"\n[[sink]]\nname = \"a\"\nurl = "
                 "\"http://h/\"\n")
                .find("another sink is named \"a\" already"),
            std::string::npos);
  EXPECT_NE(with("[worker]\nbatch = 1\n").find("unknown key \"worker.batch\""), std::string::npos);
}

}  // namespace
}  // namespace oncekey::test
