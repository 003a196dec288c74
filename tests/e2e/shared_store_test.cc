// Several gateways on one store behave as one (SPEC D7; Q 5, 9, 13, 15).
#include "e2e/shared_store.h"

#include <sched.h>
#include <signal.h>
#include <sys/socket.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "e2e/admin_fixture.h"

namespace oncekey::test {
namespace {

class SharedStore : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedStore,
                         ::testing::Values(StoreKind::postgres, StoreKind::redis,
                                           StoreKind::tiered),
                         store_name);

TEST_P(SharedStore, SameKeyOnTwoNodesExecutesOnce) {
  serve_on_two_nodes();
  constexpr std::size_t connections = 50;
  const std::string bytes = order(key_a, "delay=200").bytes();
  auto there =
      std::async(std::launch::async, [&] { return storm(other_->port(), bytes, connections); });
  std::vector<HttpResponse> answers = storm(gateway_->port(), bytes, connections);
  for (HttpResponse& answer : there.get()) answers.push_back(std::move(answer));
  EXPECT_EQ(arrivals(key_a), 1u);
  std::size_t first = 0;
  for (const HttpResponse& answer : answers) {
    if (answer.status == 201 && answer.header("Idempotency-Replayed").empty()) ++first;
    EXPECT_TRUE(answer.status == 201 || code(answer) == "request_in_flight") << answer.body;
  }
  EXPECT_EQ(first, 1u);
  HttpResponse here = post(key_a);
  HttpResponse replayed = other_->send(order(key_a));
  EXPECT_EQ(here.body, replayed.body);
  EXPECT_EQ(replayed.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(code(other_->send(order(key_a, "", "{\"amount\":2}"))), "idempotency_key_reused");
}

TEST_P(SharedStore, DuplicateWaitsForTheFirstOnAnotherNode) {
  serve_on_two_nodes("[[route]]\nmatch = \"POST,PATCH *\"\non_inflight = \"wait\"\n");
  auto first = post_held(key_a, "gate");
  HttpConnection duplicate(other_->port());
  duplicate.send(order(key_a).bytes());
  // It waits: the store is asked again and again, and says that the first is running.
  EXPECT_TRUE(eventually([&] { return other_->metric("oncekey_store_operations_total") > 2; }));
  upstream_.open_gate("gate");
  HttpResponse original = first->receive();
  HttpResponse copy = duplicate.receive();
  EXPECT_EQ(original.status, 201);
  EXPECT_EQ(copy.status, 201);
  EXPECT_EQ(copy.body, original.body);
  EXPECT_EQ(copy.header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
}

constexpr const char* short_lease =
    "[[route]]\nmatch = \"POST,PATCH *\"\nlease = \"3s\"\nupstream_timeout = \"2500ms\"\n";

TEST_P(SharedStore, LeaseOfAKilledNodeIsSweptByAnother) {
  serve_on_two_nodes(short_lease);
  auto client = post_held(key_a, "never");
  gateway_->kill();
  EXPECT_EQ(code(other_->send(order(key_a))), "request_in_flight") << "the lease still runs";
  EXPECT_EQ(json_text(other_->log_line("/event", "lease_over"), "/key"), key_a);
  EXPECT_EQ(code(other_->send(order(key_a))), "outcome_unknown");
  EXPECT_EQ(other_->metric("oncekey_zombies_total"), 1);
  EXPECT_EQ(arrivals(key_a), 1u);
  upstream_.open_gate("never");
}

TEST_P(SharedStore, LateSettlementOfAStaleOwnerIsRefusedAndReported) {
  serve_on_two_nodes(short_lease);
  auto client = post_held(key_a, "gate");
  gateway_->process().signal(SIGSTOP);
  EXPECT_EQ(json_text(other_->log_line("/event", "lease_over"), "/key"), key_a);
  upstream_.open_gate("gate");
  gateway_->process().signal(SIGCONT);
  HttpResponse late = client->receive();
  EXPECT_EQ(code(late), "outcome_unknown") << "an answer went out that is not the record's";
  std::string line = gateway_->log_line("/event", "stale_settle");
  EXPECT_EQ(json_text(line, "/key"), key_a);
  EXPECT_EQ(json_text(line, "/level"), "warn");
  EXPECT_EQ(json_text(line, "/state"), "unknown");
  EXPECT_NE(json_text(line, "/reason").find("was swept"), std::string::npos) << line;
  EXPECT_EQ(gateway_->metric("oncekey_stale_settles_total"), 1);
  EXPECT_EQ(record(key_a, "/state"), "unknown");
  EXPECT_EQ(code(post(key_a)), "outcome_unknown");
  EXPECT_EQ(arrivals(key_a), 1u);
}

class FlushedRedis : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, FlushedRedis, ::testing::Values(StoreKind::redis), store_name);

TEST_P(FlushedRedis, SettlementOfARecordThatIsLostSaysSo) {
  FragileStore store(GetParam());
  gateway_ = node(store.url());
  auto client = post_held(key_a, "gate");
  store.redis().command({"FLUSHALL"});
  upstream_.open_gate("gate");
  EXPECT_EQ(code(client->receive()), "outcome_unknown");
  const std::string line = gateway_->log_line("/event", "stale_settle");
  EXPECT_EQ(json_text(line, "/state"), "gone");
  EXPECT_EQ(json_text(line, "/upstream_status"), "201") << "what only this node knows";
  EXPECT_NE(json_text(line, "/reason").find("no longer in the store"), std::string::npos) << line;
  EXPECT_NE(json_text(gateway_->log_line("/decision", "unknown"), "/error")
                .find("no longer in the store"),
            std::string::npos);
}

// Whether a connection to that port has been asked for and not been accepted.
bool is_being_connected_to(std::uint16_t port) {
  char remote[sizeof "0100007F:FFFF"];
  std::snprintf(remote, sizeof remote, "0100007F:%04X", port);
  constexpr std::string_view asking = "02";  // SYN_SENT
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string number, local, to, state;
    words >> number >> local >> to >> state;
    if (to == remote && state == asking) return true;
  }
  return false;
}

TEST_P(SharedStore, OwnerThatWakesUpAfterItsLeaseSendsNothing) {
  // An upstream whose queue of connections is full: the gateway has its reservation, and waits.
  std::uint16_t port = 0;
  Socket listener = listen_loopback(port);
  ASSERT_EQ(::listen(listener.descriptor(), 0), 0);
  Socket filler = connect_loopback(port);
  const std::string url = fresh_store(GetParam());
  const std::string toml = std::string("[timeouts]\nconnect = \"60s\"\n") + short_lease;
  gateway_ = std::make_unique<GatewayProcess>(GatewayProcess::Options{
      .upstream = "http://127.0.0.1:" + std::to_string(port), .toml = toml, .store = url});
  other_ = node(url, toml);
  HttpConnection client(gateway_->port());
  client.send(order(key_a).bytes());
  EXPECT_TRUE(eventually([&] {
    const std::string found = other_->admin("/v1/keys/one?key=" + key_a).body;
    return json_text(found, "/state") == "in_progress";
  }));
  // Stopped a moment earlier, it would not have begun to connect.
  ASSERT_TRUE(eventually([&] { return is_being_connected_to(port); }));
  gateway_->process().signal(SIGSTOP);
  EXPECT_EQ(json_text(other_->log_line("/event", "lease_over"), "/key"), key_a);
  Socket first(::accept(listener.descriptor(), nullptr, nullptr));
  Socket connection(::accept(listener.descriptor(), nullptr, nullptr));
  gateway_->process().signal(SIGCONT);
  std::string sent;
  EXPECT_EQ(connection.receive(sent, deadline_in(patience)), Socket::Received::end);
  EXPECT_EQ(sent, "") << "the record had another owner by then";
  EXPECT_EQ(code(client.receive()), "outcome_unknown");
  EXPECT_NE(gateway_->log_line("/event", "stale_settle"), "");
}

TEST_P(SharedStore, NodeWithAnotherSecretIsRefused) {
  const std::string url = fresh_store(GetParam());
  gateway_ = node(url, "", {"/usr/bin/env", "ONCEKEY_SECRET=0123456789abcdef0123"});
  const std::pair<const char*, const char*> cases[] = {
      {"ONCEKEY_SECRET=another-secret-altogether",
       "ONCEKEY_SECRET is not the secret that this store is used with"},
      {"UNRELATED=1",
       "this store is used with a secret_file (or ONCEKEY_SECRET); this node has none"}};
  for (const auto& [secret, said] : cases) {
    Process stranger({"/usr/bin/env", secret, oncekey_binary(), "serve", "--listen", "127.0.0.1:0",
                      "--admin", "127.0.0.1:0", "--to", upstream_.url(), "--store", url});
    EXPECT_EQ(stranger.wait(), 2);
    EXPECT_NE(stranger.output().find(said), std::string::npos) << stranger.output();
  }
}

TEST_P(SharedStore, NodesWithoutASecretAgreeOnOne) {
  const std::string tenants =
      "[tenant]\nfrom = \"api_key\"\n";  // the tenant is a hash that the secret keys
  serve_on_two_nodes(tenants);
  HttpRequest request = order(key_a);
  request.with("Authorization", "Bearer 0123456789abcdef");
  HttpResponse first = gateway_->send(request);
  HttpResponse replayed = other_->send(request);
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(replayed.body, first.body);
  EXPECT_EQ(arrivals(key_a), 1u);
}

TEST_P(SharedStore, FiguresSayWhetherItMayLoseWhatItHasAcknowledged) {
  gateway_ = node(fresh_store(GetParam()));
  EXPECT_EQ(gateway_->metric("oncekey_store_at_risk"), GetParam() == StoreKind::redis ? 1 : 0);
}

TEST_P(SharedStore, UnreachableStoreIsSeenAtTheStart) {
  const std::string nobody = "127.0.0.1:" + std::to_string(free_port());
  std::string url = "postgres://oncekey@" + nobody + "/oncekey";
  if (GetParam() == StoreKind::redis) url = "redis://" + nobody;
  if (GetParam() == StoreKind::tiered) url += "+" + shared_redis().fresh_database();
  Process process({oncekey_binary(), "serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                   "--to", upstream_.url(), "--store", url});
  EXPECT_EQ(process.wait(), 1);
  EXPECT_NE(process.output(), "");
}

std::vector<std::string> with_clock_shifted_by(const std::string& seconds) {
  return {"/usr/bin/env", std::string("LD_PRELOAD=") + SHIFTED_CLOCK_PATH,
          "CLOCK_SHIFT_S=" + seconds, "ASAN_OPTIONS=verify_asan_link_order=0"};
}

TEST_P(SharedStore, ClocksThatAreHoursApartChangeNothing) {
  const std::string url = fresh_store(GetParam());
  const std::string routes =
      "[[route]]\nmatch = \"POST /orders\"\nlease = \"10s\"\nretention = \"3s\"\n"
      "upstream_timeout = \"3s\"\n";
  gateway_ = node(url, routes, with_clock_shifted_by("3600"));
  other_ = node(url, routes, with_clock_shifted_by("-3600"));
  const std::string here = json_text(gateway_->log_line("/event", "listening"), "/time");
  const std::string there = json_text(other_->log_line("/event", "listening"), "/time");
  EXPECT_NE(here.substr(0, 13), there.substr(0, 13)) << "the clocks are not apart";
  // A lease is neither over for the one nor endless for the other.
  auto held = post_held(key_b, "gate");
  EXPECT_EQ(code(other_->send(order(key_b))), "request_in_flight");
  upstream_.open_gate("gate");
  HttpResponse first = held->receive();
  EXPECT_EQ(first.status, 201) << first.body;
  // A kept answer is replayed by both, the second time from memory, and not longer than it is kept.
  for (Gateway* each : {&gateway_, &other_}) {
    for (int i = 0; i < 2; ++i) {
      HttpResponse replayed = (*each)->send(order(key_b));
      EXPECT_EQ(replayed.body, first.body);
      EXPECT_EQ(replayed.header("Idempotency-Replayed"), "true");
    }
    EXPECT_EQ((*each)->metric("oncekey_cache_replays_total"), 1);
    EXPECT_EQ((*each)->metric("oncekey_zombies_total"), 0);
  }
  EXPECT_EQ(arrivals(key_b), 1u);
  // When to look again is told alike.
  EXPECT_EQ(code(gateway_->send(order(key_a, "reset-unanswered"))), "outcome_unknown");
  for (const Gateway* each : {&gateway_, &other_}) {
    const HttpResponse status =
        (*each)->send({.method = "GET", .target = "/.well-known/idempotency/keys/" + key_a});
    EXPECT_EQ(json_text(status.body, "/state"), "unknown");
    const int seconds = std::stoi("0" + status.header("Retry-After"));
    EXPECT_GT(seconds, 0) << status.body;
    EXPECT_LE(seconds, 60);
  }
  EXPECT_TRUE(eventually([&] {
    return other_->send(order(key_b)).header("Idempotency-Replayed").empty();
  })) << "the slow clock keeps the answer for another hour";
  EXPECT_EQ(arrivals(key_b), 2u);
}

TEST_P(SharedStore, EvictedKeyIsReplayedByOthersOnlyAsLongAsTheyTrustTheirMemory) {
  const std::string url = fresh_store(GetParam());
  const TemporaryFolder folder;
  gateway_ = node(url, "admin_audit_file = \"" + (folder.path() / "audit.jsonl").string() + "\"\n",
                  {"/usr/bin/env", "ONCEKEY_ADMIN_TOKEN=" + writer});
  other_ = node(url, "replay_trust = \"1h\"\n");
  const Gateway doubting = node(url, "replay_trust = \"0s\"\n");
  const HttpResponse first = post(key_a);
  for (GatewayProcess* each : {other_.get(), doubting.get()}) {
    EXPECT_EQ(each->send(order(key_a)).body, first.body);
  }
  const std::string eviction = "{\"key\":\"" + key_a + "\",\"reason\":\"test data\"}";
  const HttpRequest evict = admin_call("POST", "/v1/keys/evict", eviction);
  ASSERT_EQ(exchange(gateway_->admin_port(), evict).status, 200);
  EXPECT_EQ(other_->send(order(key_a)).header("Idempotency-Replayed"), "true");
  EXPECT_EQ(arrivals(key_a), 1u);
  EXPECT_EQ(doubting->send(order(key_a)).header("Idempotency-Replayed"), "");
  EXPECT_EQ(arrivals(key_a), 2u);
}

TEST_P(SharedStore, EvictedKeyIsNotReplayedByTheGatewayThatEvictedIt) {
  const TemporaryFolder folder;
  gateway_ = node(fresh_store(GetParam()),
                  "replay_trust = \"1h\"\nadmin_audit_file = \"" +
                      (folder.path() / "audit.jsonl").string() + "\"\n",
                  {"/usr/bin/env", "ONCEKEY_ADMIN_TOKEN=" + writer});
  post(key_a);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "true");
  const std::string eviction = "{\"key\":\"" + key_a + "\",\"reason\":\"test data\"}";
  const HttpRequest evict = admin_call("POST", "/v1/keys/evict", eviction);
  ASSERT_EQ(exchange(gateway_->admin_port(), evict).status, 200);
  EXPECT_EQ(post(key_a).header("Idempotency-Replayed"), "");
  EXPECT_EQ(arrivals(key_a), 2u);
}

class SharedWithAnApplication : public SharedStoreFixture {};
INSTANTIATE_TEST_SUITE_P(Stores, SharedWithAnApplication, ::testing::Values(StoreKind::postgres),
                         store_name);

TEST_P(SharedWithAnApplication, HeadersThatItKeptDoNotChangeTheFraming) {
  const std::string url = fresh_store(GetParam());
  gateway_ = node(url);
  PostgresClient application(url);
  const std::string fence =
      application.query("SELECT fence FROM oncekey.reserve('default', '" + key_a + "', '\\x01')");
  application.query("SELECT oncekey.complete('default', '" + key_a + "', " + fence +
                    ", 200, '{\"content-length\":\"2\",\"transfer-encoding\":\"chunked\","
                    "\"set-cookie\":\"s=1\",\"etag\":\"v1\"}', 'hello')");
  const HttpResponse answer = gateway_->send(
      {.method = "GET", .target = "/.well-known/idempotency/keys/" + key_a + "/answer"});
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "hello");
  EXPECT_EQ(answer.header("ETag"), "v1");
  EXPECT_EQ(answer.header("Content-Length"), "5");
  EXPECT_EQ(answer.header("Transfer-Encoding") + answer.header("Set-Cookie"), "");
}

// docs/decisions/0007-taking-turns.md
TEST_P(SharedStore, ThreadsThatServeConnectionsTakeTurnsAndNoOthers) {
  gateway_ = node(fresh_store(GetParam()), "threads = 3\n");
  const std::string tasks = "/proc/" + std::to_string(gateway_->process().pid()) + "/task";
  EXPECT_TRUE(eventually([&] {
    std::size_t taking_turns = 0;
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      const pid_t thread = std::stoi(task.path().filename().string());
      if (::sched_getscheduler(thread) == SCHED_BATCH) ++taking_turns;
    }
    return taking_turns == 3;
  }));
}

}  // namespace
}  // namespace oncekey::test
