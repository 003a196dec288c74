// Another configuration while the gateway runs: whole or not at all, and no request is dropped.
#include <array>
#include <atomic>
#include <mutex>
#include <thread>

#include "e2e/admin_fixture.h"
#include "e2e/reload_fixture.h"

namespace oncekey::test {
namespace {

class Reload : public ReloadFixture {};

// Which configuration an answer was made by; "mixed" when its marks disagree.
std::string made_by(const HttpResponse& answer) {
  const auto marked = [&](const Marks& marks) {
    if (answer.status == 400) {
      return (answer.body.find(marks.page) != std::string::npos) +
             (answer.body.find(" " + marks.key) != std::string::npos);
    }
    return (answer.find(marks.key) ? 1 : 0) +
           (answer.body.find("POST " + marks.base + "/orders") != std::string::npos);
  };
  const int a = marked(marks_a), b = marked(marks_b);
  if (a == 2 && b == 0) return "a";
  if (b == 2 && a == 0) return "b";
  return "mixed";
}

TEST_F(Reload, UnderLoadEveryAnswerIsByOneConfigurationAndNoneIsLost) {
  constexpr int client_count = 8;
  constexpr int reload_count = 30;
  serve_file(config_a());
  std::atomic<bool> stop{false};
  std::atomic<int> by_a{0}, by_b{0};
  std::mutex mutex;
  std::vector<std::string> wrong;
  const auto client = [&](int number) {
    HttpConnection connection(gateway_->port());
    for (int i = 0; !stop; ++i) {
      const bool keyed = i % 3 != 0;
      const std::string key = "load-of-client-" + std::to_string(number) + "-" + std::to_string(i);
      const HttpResponse answer = connection.exchange(marked_order(keyed ? key : ""));
      const std::string maker = made_by(answer);
      if (maker == "a") ++by_a;
      if (maker == "b") ++by_b;
      if (answer.status == (keyed ? 201 : 400) && maker != "mixed") continue;
      std::lock_guard lock(mutex);
      wrong.push_back(maker + " " + std::to_string(answer.status) + " " + answer.failure + " " +
                      answer.body);
      return;
    }
  };
  std::vector<std::thread> clients;
  for (int i = 0; i < client_count; ++i) clients.emplace_back(client, i);
  for (int i = 0; i < reload_count && !HasFatalFailure(); ++i) {
    const int seen = by_a + by_b;
    reload(i % 2 == 0 ? config_b() : config_a());
    EXPECT_TRUE(eventually([&] { return by_a + by_b > seen + client_count || !wrong.empty(); }));
  }
  stop = true;
  for (std::thread& thread : clients) thread.join();
  EXPECT_TRUE(wrong.empty()) << wrong.size() << " answers, the first: " << wrong.front();
  EXPECT_GT(by_a, 0);
  EXPECT_GT(by_b, 0);
  EXPECT_EQ(gateway_->metric("oncekey_connections_accepted_total"), client_count)
      << "a connection was cut";
  for (const Arrival& arrival : upstream_.audit().all()) EXPECT_EQ(arrival.target, "/a/orders");
  for (const Arrival& arrival : other_upstream_.audit().all()) {
    EXPECT_EQ(arrival.target, "/b/orders");
  }
}

TEST_F(Reload, RequestsUnderWayEndByTheRulesTheyBeganWith) {
  serve_file(config_a());
  HttpConnection early(gateway_->port());
  early.send(marked_order(key_a, "hold=gate echo").bytes());
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  reload(config_b());
  EXPECT_EQ(made_by(gateway_->send(marked_order(key_b))), "b");
  upstream_.open_gate("gate");
  const HttpResponse answer = early.receive();
  EXPECT_EQ(answer.status, 201) << answer.failure;
  EXPECT_EQ(made_by(answer), "a");
  const HttpResponse replay = early.exchange(marked_order(key_a));
  EXPECT_EQ(replay.header("Idempotency-Replayed"), "true") << replay.body;
  EXPECT_EQ(replay.body, answer.body);
  EXPECT_EQ(replay.header(marks_b.key), key_a) << "the connection's next request has the new rules";
  EXPECT_EQ(other_upstream_.audit().of_key(key_a).size(), 0u);
}

TEST_F(Reload, BrokenFileIsRefusedWithLineAndReasonAndChangesNothing) {
  serve_file(config_a());
  const std::string reason = refused_reload(config_b("upgrade = \"perhaps\""));
  EXPECT_NE(reason.find("oncekey.toml:6:"), std::string::npos) << reason;
  EXPECT_NE(reason.find("upgrade"), std::string::npos) << reason;
  EXPECT_EQ(made_by(gateway_->send(marked_order(key_a))), "a");
  EXPECT_EQ(gateway_->metric("oncekey_config_last_reload_successful"), 0);
  reload(config_b());
  EXPECT_EQ(gateway_->metric("oncekey_config_last_reload_successful"), 1);
  EXPECT_EQ(made_by(gateway_->send(marked_order(key_b))), "b");
}

TEST_F(Reload, FileThatIsGoneOrNoTomlIsRefused) {
  serve_file(config_a());
  EXPECT_NE(refused_reload("listen = ").find("not valid TOML"), std::string::npos);
  std::filesystem::remove(gateway_->folder().path() / "oncekey.toml");
  gateway_->process().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return reloads("refused") == 2; }));
  EXPECT_EQ(made_by(gateway_->send(marked_order(key_a))), "a");
}

TEST_F(Reload, ChangedStoreIsRefusedByName) {
  serve_file(config_a());
  std::string text = config_b("threads = 3");
  const std::size_t at = text.find("rocksdb:");
  text.replace(at, 8, "sqlite:");
  const std::string reason = refused_reload(text);
  EXPECT_EQ(reason,
            "store, threads: differ from what is in force, and only a restart can change them");
  EXPECT_EQ(made_by(gateway_->send(marked_order(key_a))), "a") << "a part of it is in force";
}

TEST_F(Reload, UpstreamWhoseNameIsUnknownIsRefused) {
  serve_file(config_a());
  const std::string reason = refused_reload(config(marks_b, "http://no-such-host.invalid:80"));
  EXPECT_NE(reason.find("no-such-host.invalid"), std::string::npos) << reason;
  EXPECT_EQ(made_by(gateway_->send(marked_order(key_a))), "a");
}

TEST_F(Reload, RemovedRoutesRecordsAreReplayedWhenMatchedAnew) {
  serve_file(config_a());
  const HttpResponse first = gateway_->send(marked_order(key_a));
  EXPECT_EQ(first.status, 201);
  reload(
      "upstream = \"" + upstream_.url() + "\"\n" +
      config_a().substr(0, config_a().find("upstream")) +
      "[[route]]\nmatch = \"POST /others\"\n[[route]]\nmatch = \"POST /orders\"\nkey = \"off\"\n");
  EXPECT_EQ(gateway_->send(marked_order(key_b)).header("Idempotency-Key"), "");
  reload(config_a());
  const HttpResponse again = gateway_->send(marked_order(key_a));
  EXPECT_EQ(again.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(again.body, first.body);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_F(Reload, ConnectionsStayAndTheirNextRequestsHaveTheNewLimits) {
  serve_file(config_a());
  HttpConnection connection(gateway_->port());
  HttpRequest large = marked_order(key_a);
  large.with("X-Filling", std::string(4000, 'x'));
  EXPECT_EQ(connection.exchange(large).status, 201);
  reload(config_a("[limits]\nheader_block = \"2KiB\"\n"));
  EXPECT_EQ(connection.exchange(marked_order(key_b)).status, 201);
  EXPECT_EQ(connection.exchange(large).status, 431);
}

TEST_F(Reload, LogLevelChanges) {
  serve_file(config_a());
  gateway_->send(marked_order(key_a));
  EXPECT_NE(gateway_->log_line("/key", key_a), "");
  reload(config_a("[log]\nlevel = \"error\"\n"));
  gateway_->send(marked_order(key_b));
  reload(config_a());
  gateway_->send(marked_order("key-cccccccccccccccc"));
  EXPECT_NE(gateway_->log_line("/key", "key-cccccccccccccccc"), "");
  EXPECT_EQ(gateway_->process().output().find(key_b), std::string::npos);
}

TEST_F(Reload, ProbeThatIsNewFindsOutcomes) {
  serve_file(config_a());
  gateway_->send(marked_order(key_b, "reset-unanswered"));
  EXPECT_EQ(record(key_b, "/state"), "unknown") << "nobody asks yet";
  reload(config_a("",
                  "probe = { get = \"/charge?key={key}\", every = \"50ms\", headers = "
                  "[\"X-Test-Behaviour: status=200\"] }\n"));
  gateway_->send(marked_order(key_a, "reset-unanswered"));
  EXPECT_TRUE(eventually([&] { return record(key_a, "/state") == "completed"; }))
      << gateway_->process().output();
}

TEST_F(Reload, FlagsStillWinOverTheFile) {
  serve("policy_url = \"https://a.example/policy\"\n");
  reload("upstream = \"http://127.0.0.1:1\"\npolicy_url = \"https://b.example/policy\"\n");
  EXPECT_EQ(post(key_a).status, 201) << "--to no longer names the upstream";
  EXPECT_NE(post("").body.find("https://b.example/policy"), std::string::npos);
}

TEST_F(Reload, PausedRouteStaysPausedUntilARestart) {
  serve_file(config_a(), {"/usr/bin/env", "ONCEKEY_ADMIN_TOKEN=" + writer});
  const auto refusal = [&](const std::string& key) {
    return code(gateway_->send(marked_order(key)));
  };
  const HttpRequest pause = admin_call("POST", "/v1/routes/pause",
                                       "{\"route\":\"POST /orders\",\"reason\":\"provider down\"}");
  ASSERT_EQ(exchange(gateway_->admin_port(), pause).status, 200);
  EXPECT_EQ(refusal("paused-route-key-1"), "route_paused");
  reload(config_b());
  EXPECT_EQ(refusal("paused-route-key-1"), "route_paused");
  gateway_->restart();
  EXPECT_EQ(gateway_->send(marked_order("paused-route-key-1")).status, 201);
}

TEST_F(Reload, ManyReloadsLeaveNoThreadAndLittleMemory) {
  serve_file(config(marks_a, "http://localhost:" + std::to_string(upstream_.port())));
  const auto threads = [this] {
    std::size_t count = 0;
    const auto tasks = "/proc/" + std::to_string(gateway_->process().pid()) + "/task";
    for ([[maybe_unused]] const auto& task : std::filesystem::directory_iterator(tasks)) ++count;
    return count;
  };
  const std::array<std::string, 2> hosts{"http://localhost:", "http://127.0.0.1:"};
  const auto next = [&](int i) {
    reload(config(marks_a,
                  hosts[static_cast<std::size_t>(i % 2)] + std::to_string(upstream_.port()),
                  "[timeouts]\nconnect = \"" + std::to_string(1000 + i) + "ms\"\n"));
  };
  for (int i = 0; i < 20; ++i) next(i);
  const std::size_t threads_before = threads();
  const std::size_t bytes_before = resident_bytes(gateway_->process().pid());
  for (int i = 20; i < 120; ++i) next(i);
  EXPECT_EQ(threads(), threads_before);
  const std::size_t bytes = resident_bytes(gateway_->process().pid());
  const std::size_t grown = bytes > bytes_before ? bytes - bytes_before : 0;
  RecordProperty("bytes_per_reload", static_cast<int>(grown / 100));
  EXPECT_LT(grown, 100 * (200u << 10)) << grown / 100 << " bytes for each reload";
}

}  // namespace
}  // namespace oncekey::test
