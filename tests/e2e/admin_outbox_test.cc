// The outbox and its dead letters on the worker's admin port.
#include "e2e/admin_fixture.h"
#include "e2e/worker_fixture.h"

namespace oncekey::test {
namespace {

class AdminOutbox : public WorkerFixture {
 protected:
  void start() {
    const std::string tokens =
        folder_.write("tokens", "alice write " + writer + "\nbob read " + reader + "\n");
    const std::string audit = (folder_.path() / "audit.jsonl").string();
    worker_ =
        worker("", {}, {"ONCEKEY_ADMIN_TOKEN_FILE=" + tokens, "ONCEKEY_ADMIN_AUDIT_FILE=" + audit});
    const auto line = log_line(*worker_, "delivering");
    ASSERT_TRUE(line) << worker_->output();
    const std::string address = json_text(*line, "/admin");
    port_ = static_cast<std::uint16_t>(std::stoi(address.substr(address.rfind(':') + 1)));
  }
  HttpResponse call(const std::string& method, const std::string& target,
                    const std::string& body = "", const std::string& token = writer) {
    return exchange(port_, admin_call(method, target, body, token));
  }
  // Two dead letters to "provider"; the receiver refuses what is sent to it for good.
  void make_dead() {
    enqueue("dead-1", {.behaviour = "status=400"});
    enqueue("dead-2", {.behaviour = "status=400"});
    start();
    ASSERT_TRUE(eventually([this] { return queue()->stats()->dead == 2; }));
  }

  std::unique_ptr<Process> worker_;
  std::uint16_t port_ = 0;
};

TEST_P(AdminOutbox, DeadLettersAreListedShownRetriedAndDiscarded) {
  make_dead();
  EXPECT_EQ(call("GET", "/v1/outbox", "", "").status, 401);
  const HttpResponse list = call("GET", "/v1/outbox?state=dead", "", reader);
  ASSERT_EQ(list.status, 200) << list.body;
  const std::string first = json_text(list.body, "/messages/0/id");
  EXPECT_EQ(json_text(list.body, "/messages/1/message_key"), "dead-2");
  EXPECT_FALSE(json_at(list.body, "/messages/2"));
  const HttpResponse shown = call("GET", "/v1/outbox/one?id=" + first, "", reader);
  EXPECT_NE(json_text(shown.body, "/last_error"), "") << shown.body;
  EXPECT_FALSE(json_at(shown.body, "/payload"));
  EXPECT_EQ(call("GET", "/v1/outbox/one?payload=1&id=" + first, "", reader).status, 403);
  EXPECT_EQ(json_text(call("GET", "/v1/outbox/one?payload=1&id=" + first).body, "/payload"),
            "{\"key\":\"dead-1\"}");
  EXPECT_EQ(call("GET", "/v1/outbox/one?id=999999").status, 404);

  const std::string ids = "{\"ids\":[" + first + "],\"reason\":\"fixed\"}";
  EXPECT_EQ(call("POST", "/v1/outbox/retry", ids, reader).status, 403);
  const HttpResponse retried = call("POST", "/v1/outbox/retry", ids);
  ASSERT_EQ(retried.status, 200) << retried.body;
  EXPECT_EQ(json_text(retried.body, "/changed"), "1");
  EXPECT_TRUE(eventually([this] { return arrivals("dead-1").size() >= 2; }));
  EXPECT_TRUE(eventually([this] { return queue()->stats()->dead == 2; })) << "dead again";

  const std::string all = "\"filter\":{\"destination\":\"provider\"},\"reason\":\"obsolete\"";
  const HttpResponse dry = call("POST", "/v1/outbox/discard", "{" + all + ",\"dry_run\":true}");
  EXPECT_TRUE(json_at(dry.body, "/ids/1")) << dry.body;
  EXPECT_EQ(queue()->stats()->dead, 2u);
  const HttpResponse gone = call("POST", "/v1/outbox/discard", "{" + all + "}");
  EXPECT_EQ(json_text(gone.body, "/changed"), "2") << gone.body;
  EXPECT_EQ(queue()->stats()->dead, 0u);
  const HttpResponse audit = call("GET", "/v1/audit");
  EXPECT_EQ(json_text(audit.body, "/entries/0/action"), "outbox_discard") << audit.body;
  EXPECT_EQ(json_text(audit.body, "/entries/1/action"), "outbox_retry");
  EXPECT_EQ(call("POST", "/v1/outbox/retry", ids).status, 409) << "it is gone";
}

TEST_P(AdminOutbox, StatusAndDocumentAreServed) {
  start();
  const HttpResponse status = call("GET", "/v1/status");
  EXPECT_EQ(status.status, 200) << status.body;
  EXPECT_EQ(json_text(status.body, "/outbox/dead_letters"), "0");
  EXPECT_EQ(call("GET", "/v1/keys?state=unknown").status, 200);
  EXPECT_TRUE(json_at(call("GET", "/openapi.json").body, "/paths/~1v1~1outbox~1retry/post"));
}

INSTANTIATE_TEST_SUITE_P(Databases, AdminOutbox,
                         ::testing::Values(OutboxKind::sqlite, OutboxKind::postgres),
                         [](const auto& info) { return name_of(info.param); });

}  // namespace
}  // namespace oncekey::test
