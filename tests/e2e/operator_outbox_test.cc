// `oncekey outbox …` before a real worker.
#include "e2e/operator_fixture.h"
#include "e2e/worker_fixture.h"

namespace oncekey::test {
namespace {

class OperatorOutbox : public WorkerFixture {
 protected:
  // Two dead letters to "provider"; the receiver refuses what is sent to it for good.
  void make_dead() {
    enqueue("dead-1", {.behaviour = "status=400"});
    enqueue("dead-2", {.behaviour = "status=400"});
    const std::string tokens = folder_.write("tokens", "alice write " + writer + "\n");
    const std::string audit = (folder_.path() / "audit.jsonl").string();
    worker_ =
        worker("", {}, {"ONCEKEY_ADMIN_TOKEN_FILE=" + tokens, "ONCEKEY_ADMIN_AUDIT_FILE=" + audit});
    const auto line = log_line(*worker_, "delivering");
    ASSERT_TRUE(line) << worker_->output();
    const std::string address = json_text(*line, "/admin");
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
    ASSERT_TRUE(eventually([this] { return queue()->stats()->dead == 2; }));
  }
  CommandRun oncekey(std::vector<std::string> words) {
    return run_command(at_port(std::move(words), port_, folder_.write("token", writer)));
  }
  std::string done(std::vector<std::string> words) {
    const CommandRun run = oncekey(std::move(words));
    EXPECT_EQ(run.exit_code, 0) << run.all();
    return run.out;
  }

  std::unique_ptr<Process> worker_;
  std::uint16_t port_ = 0;
};

TEST_P(OperatorOutbox, DeadLettersAreListedShownRetriedAndDiscarded) {
  make_dead();
  const std::string list = done({"outbox", "list", "--dead"});
  EXPECT_TRUE(contains(list, "dead-1")) << list;
  EXPECT_TRUE(contains(list, "400")) << "the last error is missing: " << list;
  const std::string first =
      json_text(done({"outbox", "list", "--dead", "--json"}), "/messages/0/id");
  const std::string shown = done({"outbox", "show", first, "--payload"});
  EXPECT_TRUE(contains(shown, "{\"key\":\"dead-1\"}")) << shown;
  EXPECT_EQ(oncekey({"outbox", "show", "999999"}).exit_code, 3);

  const std::string retried = done({"outbox", "retry", first, "--reason", "mended"});
  EXPECT_TRUE(contains(retried, "1 of 1 retried")) << retried;
  EXPECT_TRUE(eventually([this] { return arrivals("dead-1").size() >= 2; }));
  EXPECT_TRUE(eventually([this] { return queue()->stats()->dead == 2; })) << "dead again";

  const CommandRun partly = oncekey({"outbox", "retry", first, "999999", "--reason", "typo"});
  EXPECT_EQ(partly.exit_code, 1) << partly.all();
  EXPECT_TRUE(contains(partly.out, "1 of 2 retried")) << partly.all();
  EXPECT_TRUE(eventually([this] { return arrivals("dead-1").size() >= 3; }));
  EXPECT_TRUE(eventually([this] { return queue()->stats()->dead == 2; })) << "dead again";

  const std::string dry = done({"outbox", "discard", "--all", "--dry-run", "--reason", "old"});
  EXPECT_TRUE(contains(dry, "2 would be discarded; nothing was changed")) << dry;
  EXPECT_EQ(queue()->stats()->dead, 2u);
  const std::string gone =
      done({"outbox", "discard", "--all", "--destination", "provider", "--reason", "old"});
  EXPECT_TRUE(contains(gone, "2 of 2 discarded")) << gone;
  EXPECT_EQ(queue()->stats()->dead, 0u);
  EXPECT_EQ(oncekey({"outbox", "retry", first, "--reason", "late"}).exit_code, 4) << "it is gone";
  const std::string status = done({"status", "--worker"});
  EXPECT_TRUE(contains(status, "dead letters")) << status;
  const std::string changes = done({"changes"});
  EXPECT_TRUE(contains(changes, "outbox_discard")) << changes;
}

INSTANTIATE_TEST_SUITE_P(Databases, OperatorOutbox,
                         ::testing::Values(OutboxKind::sqlite, OutboxKind::postgres),
                         [](const auto& database) { return name_of(database.param); });

}  // namespace
}  // namespace oncekey::test
