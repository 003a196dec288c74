// What a service manager sees of the gateway: readiness, reloads, the end, and its own commands.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "e2e/reload_fixture.h"

namespace oncekey::test {
namespace {

// The service manager's end of sd_notify.
class NotifySocket {
 public:
  explicit NotifySocket(const std::string& path) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    timeval time{patience.count() / 1000, 0};
    ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
  }
  ~NotifySocket() { ::close(fd_); }

  // The next message, other than that the process is alive.
  std::string next() {
    for (;;) {
      char text[4096];
      const ssize_t size = ::recv(fd_, text, sizeof text, 0);
      if (size <= 0) return "";
      const std::string message(text, static_cast<std::size_t>(size));
      if (message != "WATCHDOG=1") return message;
      ++alive_;
    }
  }
  bool hears_life() {
    char text[4096];
    const ssize_t size = ::recv(fd_, text, sizeof text, 0);
    return size > 0 && std::string(text, static_cast<std::size_t>(size)) == "WATCHDOG=1";
  }

 private:
  int fd_;
  int alive_ = 0;
};

class SupervisorFixture : public ReloadFixture {
 protected:
  std::string url() const { return "http://127.0.0.1:" + std::to_string(gateway_->admin_port()); }

  struct Ran {
    int code = -1;
    std::string output;
  };
  static Ran run(std::vector<std::string> words) {
    words.insert(words.begin(), oncekey_binary());
    Process process(words);
    const int code = process.wait().value_or(-1);
    return {code, process.output()};
  }
};
using Supervision = SupervisorFixture;

TEST_F(Supervision, IsToldOfReadinessReloadsAndTheEnd) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "notify").string();
  NotifySocket socket(path);
  serve_file(config_a(), {"/usr/bin/env", "NOTIFY_SOCKET=" + path});
  const std::string ready = socket.next();
  EXPECT_TRUE(ready.starts_with("READY=1\nSTATUS=serving 127.0.0.1:")) << ready;
  reload(config_b());
  const std::string reloading = socket.next();
  EXPECT_TRUE(reloading.starts_with("RELOADING=1\nMONOTONIC_USEC=")) << reloading;
  EXPECT_GT(std::stoll(reloading.substr(reloading.rfind('=') + 1)), 0);
  const std::string again = socket.next();
  EXPECT_TRUE(again.starts_with("READY=1\n")) << again;
  EXPECT_NE(again.find(other_upstream_.url()), std::string::npos) << again;
  refused_reload("listen = ");
  EXPECT_TRUE(socket.next().starts_with("RELOADING=1\n"));
  const std::string refused = socket.next();
  EXPECT_TRUE(refused.starts_with("READY=1\n")) << refused;
  EXPECT_NE(refused.find("refused"), std::string::npos) << refused;
  gateway_->process().signal(SIGTERM);
  EXPECT_TRUE(socket.next().starts_with("STOPPING=1\n"));
  EXPECT_EQ(gateway_->process().wait(), 0);
}

TEST_F(Supervision, WatchdogHearsFromItAgainAndAgain) {
  TemporaryFolder folder;
  const std::string path = (folder.path() / "notify").string();
  NotifySocket socket(path);
  serve_file(config_a(), {"/usr/bin/env", "NOTIFY_SOCKET=" + path, "WATCHDOG_USEC=200000"});
  EXPECT_TRUE(socket.next().starts_with("READY=1\n"));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(socket.hears_life());
}

TEST_F(Supervision, HealthcheckFollowsReadiness) {
  serve_file(config_a());
  const Ran good = run({"healthcheck", "--url", url()});
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_NE(good.output.find("\"ready\""), std::string::npos) << good.output;
  auto held = std::make_unique<HttpConnection>(gateway_->port());
  held->send(marked_order(key_a, "hold=gate").bytes());
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(key_a, 1));
  gateway_->process().signal(SIGTERM);
  EXPECT_TRUE(eventually([&] { return run({"healthcheck", "--url", url()}).code == 1; }));
  const Ran draining = run({"healthcheck", "--url", url()});
  EXPECT_NE(draining.output.find("shutting down"), std::string::npos) << draining.output;
  upstream_.open_gate("gate");
  EXPECT_EQ(gateway_->process().wait(), 0);
  EXPECT_EQ(run({"healthcheck", "--url", url()}).code, 1);
}

TEST_F(Supervision, HealthcheckTakesTheAddressFromTheConfiguration) {
  serve_file(config_a());
  TemporaryFolder folder;
  const std::string file = folder.write(
      "check.toml", "admin = \"0.0.0.0:" + std::to_string(gateway_->admin_port()) + "\"\n");
  EXPECT_EQ(run({"healthcheck", "--config", file}).code, 0);
  EXPECT_EQ(run({"healthcheck", "--config", "/no/such/file.toml"}).code, 2);
}

TEST_F(Supervision, ReloadCommandGivesTheVerdictOfAProcess) {
  serve_file(config_a());
  const std::string pid = std::to_string(gateway_->process().pid());
  write(config_b());
  const Ran good = run({"reload", "--url", url(), "--pid", pid});
  EXPECT_EQ(good.code, 0) << good.output;
  EXPECT_NE(good.output.find("in force; changed: upstream; policy_url; route 1 (POST /orders): "
                             "key_header"),
            std::string::npos)
      << good.output;
  const std::string file = write("[timeouts]\nidle = \"soon\"\n");
  const Ran bad = run({"reload", "--url", url(), "--pid", pid});
  EXPECT_EQ(bad.code, 1);
  EXPECT_NE(bad.output.find(file + ":2:8: timeouts.idle"), std::string::npos) << bad.output;
  EXPECT_EQ(gateway_->send(marked_order(key_a)).header(marks_b.key), key_a);
}

TEST_F(Supervision, ReloadCommandSignalsNoOtherProcess) {
  serve_file(config_a());
  const Ran ran = run({"reload", "--url", url(), "--pid", std::to_string(::getpid())});
  EXPECT_EQ(ran.code, 1);
  EXPECT_NE(ran.output.find("is not the gateway"), std::string::npos) << ran.output;
}

TEST_F(Supervision, ReloadByTheAdminPortNeedsATokenThatMayWrite) {
  serve_file(config_a(), {"/usr/bin/env", "ONCEKEY_ADMIN_TOKEN=a-token-for-the-reload-test"});
  write(config_b());
  const Ran without = run({"reload", "--url", url()});
  EXPECT_EQ(without.code, 1) << without.output;
  EXPECT_EQ(reloads("applied"), 0);
  Process with({"/usr/bin/env", "ONCEKEY_ADMIN_TOKEN=a-token-for-the-reload-test", oncekey_binary(),
                "reload", "--url", url()});
  EXPECT_EQ(with.wait(), 0) << with.output();
  EXPECT_EQ(reloads("applied"), 1);
}

TEST_F(Supervision, ReloadWithoutAFileSaysSo) {
  gateway_ = nullptr;
  Process process({oncekey_binary(), "serve", "--to", upstream_.url(), "--listen", "127.0.0.1:0",
                   "--admin", "127.0.0.1:0", "--store", "memory:"});
  ASSERT_TRUE(process.wait_for_line(
      [](const std::string& line) { return json_text(line, "/event") == "listening"; }));
  process.signal(SIGHUP);
  EXPECT_EQ(process.wait(), 0) << "a closed terminal ends a gateway that has no file";
}

}  // namespace
}  // namespace oncekey::test
