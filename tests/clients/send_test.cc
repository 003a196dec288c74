// oncekey send, by the real binary: what it prints, how it ends, and that it never runs twice.
#include <gtest/gtest.h>
#include <signal.h>

#include "oncekey/key_file.h"
#include "support/command_run.h"
#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/listed_answers.h"
#include "support/process.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

using Way = ListedAnswer::Way;

CommandRun send(std::vector<std::string> words, const std::string& input = "") {
  words.insert(words.begin(), "send");
  return run_command(words, input);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Send, PrintsTheBodyAndNothingElse) {
  ListedAnswers server({{.status = 201, .headers = {{"X-Order", "7"}}, .body = "{\"id\":7}"}});
  const CommandRun run = send({"-H", "X-A: b", "-d", "{\"n\":1}", server.url() + "/orders?x=1"});
  EXPECT_EQ(run.exit_code, 0) << run.all();
  EXPECT_EQ(run.out, "{\"id\":7}");
  EXPECT_EQ(run.err, "");
  const HttpMessage request = server.requests().front();
  EXPECT_EQ(request.start_line, "POST /orders?x=1 HTTP/1.1");
  EXPECT_EQ(request.header("X-A"), "b");
  EXPECT_EQ(request.header("Content-Type"), "application/json");
  EXPECT_EQ(request.header("Idempotency-Key").size(), 36u);
  EXPECT_EQ(request.body, "{\"n\":1}");
}

TEST(Send, TakesMethodKeyAndBodyFromWhereItIsTold) {
  ListedAnswers server({{.status = 200, .headers = {{"X-Order", "7"}}, .body = "ok"}});
  const CommandRun run =
      send({"-i", "-X", "PATCH", "--key", "order-7-again", "--key-header", "X-Once", "-H",
            "Content-Type: text/plain", "-d", "@-", server.url()},
           "a\nb\n");
  EXPECT_EQ(run.exit_code, 0) << run.all();
  EXPECT_TRUE(run.out.starts_with("HTTP/1.1 200\r\n")) << run.out;
  EXPECT_TRUE(has(run.out, "X-Order: 7\r\n")) << run.out;
  EXPECT_TRUE(run.out.ends_with("\r\n\r\nok")) << run.out;
  const HttpMessage request = server.requests().front();
  EXPECT_EQ(request.start_line, "PATCH / HTTP/1.1");
  EXPECT_EQ(request.header("X-Once"), "order-7-again");
  EXPECT_EQ(request.count("Content-Type"), 1u);
  EXPECT_EQ(request.body, "a\nb\n");
}

TEST(Send, RetriesUnderOneKeyAndSaysSo) {
  ListedAnswers server({{.way = Way::reset},
                        {.status = 409, .headers = {{"Retry-After", "0"}}},
                        {.status = 503, .headers = {{"Retry-After", "0"}}},
                        {.status = 201, .body = "x", .way = Way::cut},
                        {.status = 201, .body = "done"}});
  const CommandRun run = send({"-d", "{}", server.url() + "/orders"});
  EXPECT_EQ(run.exit_code, 0) << run.all();
  EXPECT_EQ(run.out, "done");
  EXPECT_TRUE(has(run.err, "attempt 2: the answer was 409; again in")) << run.err;
  EXPECT_TRUE(has(run.err, "attempt 3: the answer was 503; again in")) << run.err;
  const auto requests = server.requests();
  ASSERT_EQ(requests.size(), 5u);
  for (const HttpMessage& request : requests) {
    EXPECT_EQ(request.header("Idempotency-Key"), requests.front().header("Idempotency-Key"));
    EXPECT_EQ(request.body, "{}");
  }
}

TEST(Send, QuietSaysNothingOfRetries) {
  ListedAnswers server({{.way = Way::reset}, {.status = 201}});
  const CommandRun run = send({"--quiet", server.url()});
  EXPECT_EQ(run.exit_code, 0) << run.all();
  EXPECT_EQ(run.err, "");
}

TEST(Send, ExitCodeTellsWhatBecameOfIt) {
  ListedAnswers mismatch({{.status = 422, .body = "other body"}});
  const CommandRun refused = send({mismatch.url()});
  EXPECT_EQ(refused.exit_code, 1) << refused.all();
  EXPECT_EQ(refused.out, "other body");
  EXPECT_TRUE(has(refused.err, "the answer is 422")) << refused.err;
  EXPECT_EQ(mismatch.requests().size(), 1u);

  ListedAnswers silent({{.way = Way::reset}});
  const CommandRun unknown = send({"--attempts", "2", "--key", "order-7", silent.url()});
  EXPECT_EQ(unknown.exit_code, 3) << unknown.all();
  EXPECT_TRUE(has(unknown.err, "--key order-7")) << unknown.err;
  EXPECT_EQ(silent.requests().size(), 2u);

  const std::string nobody = "http://127.0.0.1:" + std::to_string(free_port());
  const CommandRun unreached = send({"--attempts", "2", nobody});
  EXPECT_EQ(unreached.exit_code, 4) << unreached.all();

  ListedAnswers open({{.status = 502, .headers = {{"Idempotency-Protected", "false"}}}});
  const CommandRun unsafe = send({open.url()});
  EXPECT_EQ(unsafe.exit_code, 5) << unsafe.all();
  EXPECT_TRUE(has(unsafe.err, "Look it up")) << unsafe.err;

  ListedAnswers late({{.way = Way::silence}});
  EXPECT_EQ(send({"--give-up-after", "300ms", late.url()}).exit_code, 3);
}

TEST(Send, WrongFlagsSendNothing) {
  ListedAnswers server;
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{"no-url"},
                                             {"ftp://127.0.0.1/"},
                                             {"-H", "Idempotency-Key: k", server.url()},
                                             {"-H", "no colon", server.url()},
                                             {"-d", "@/nowhere/body", server.url()},
                                             {"--name", "n", server.url()},
                                             {"--timeout", "soon", server.url()},
                                             {"--attempts", "0", server.url()},
                                             {"--key", "two words", server.url()},
                                             {"--key-file", "/nowhere/keys", server.url()}}) {
    const CommandRun run = send(words);
    EXPECT_EQ(run.exit_code, 2) << words.front() << "\n" << run.all();
    EXPECT_NE(run.err, "") << words.front();
  }
  EXPECT_EQ(server.requests().size(), 0u);
}

TEST(Send, SummaryIsJson) {
  ListedAnswers server(
      {{.status = 503, .headers = {{"Retry-After", "0"}}},
       {.status = 201, .headers = {{"Idempotency-Replayed", "true"}}, .body = "{\"id\":7}"}});
  const CommandRun run = send({"--json", "-q", "--key", "order-7", server.url()});
  EXPECT_EQ(run.exit_code, 0) << run.all();
  EXPECT_EQ(json_text(run.out, "/outcome"), "done") << run.out;
  EXPECT_EQ(json_text(run.out, "/attempts"), "2");
  EXPECT_EQ(json_text(run.out, "/status"), "201");
  EXPECT_EQ(json_text(run.out, "/replayed"), "true");
  EXPECT_EQ(json_text(run.out, "/key"), "order-7");
  EXPECT_EQ(json_text(run.out, "/body"), "{\"id\":7}");
}

class SendTwice : public ::testing::Test {
 protected:
  SendTwice() : gateway_({.upstream = upstream_.url()}) { gateway_.start(); }

  std::vector<std::string> words(const std::string& body, const std::string& behaviour = "") {
    std::vector<std::string> all = {"send", "--key-file", path_, "-d", body};
    if (!behaviour.empty()) {
      all.insert(all.end(), {"-H", std::string(behaviour_header) + ": " + behaviour});
    }
    all.push_back("http://127.0.0.1:" + std::to_string(gateway_.port()) + "/orders");
    return all;
  }

  TemporaryFolder folder_;
  std::string path_ = (folder_.path() / "keys").string();
  ScriptedUpstream upstream_;
  GatewayProcess gateway_;
};

TEST_F(SendTwice, KilledAndRepeatedItRunsOnce) {
  std::vector<std::string> command = words("{\"n\":1}", "hold=work");
  command.insert(command.begin(), oncekey_binary());
  Process first(command);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(1));
  first.signal(SIGKILL);
  first.wait();
  const auto kept = KeyFile(path_).list();
  ASSERT_TRUE(kept) << kept.error();
  ASSERT_EQ(kept->size(), 1u);
  upstream_.open_gate("work");
  const CommandRun second = run_command(words("{\"n\":1}", "hold=work"));
  EXPECT_EQ(second.exit_code, 0) << second.all();
  ASSERT_EQ(upstream_.audit().size(), 1u);
  EXPECT_EQ(upstream_.audit().all().front().key, kept->front().key);
  EXPECT_EQ(second.out, upstream_.audit().all().front().answer);
  EXPECT_TRUE(KeyFile(path_).list()->empty()) << "it has come to its end";
}

TEST_F(SendTwice, WhatHasEndedIsANewOperationNextTime) {
  EXPECT_EQ(run_command(words("{\"n\":2}")).exit_code, 0);
  EXPECT_EQ(run_command(words("{\"n\":2}")).exit_code, 0);
  EXPECT_EQ(upstream_.audit().size(), 2u);
}

TEST_F(SendTwice, AnAnswerThatNobodyCouldReadKeepsItsKey) {
  std::vector<std::string> command = {"/bin/sh", "-c", "exec \"$0\" \"$@\" >/dev/full",
                                      oncekey_binary()};
  for (const std::string& word : words("{\"n\":3}")) command.push_back(word);
  Process process(command);
  EXPECT_EQ(process.wait(), 3) << process.output();
  EXPECT_EQ(KeyFile(path_).list()->size(), 1u);
  const CommandRun again = run_command(words("{\"n\":3}"));
  EXPECT_EQ(again.exit_code, 0) << again.all();
  EXPECT_EQ(again.out, upstream_.audit().all().front().answer);
  EXPECT_EQ(upstream_.audit().size(), 1u);
}

TEST_F(SendTwice, CalledOffItKeepsTheKey) {
  std::vector<std::string> command = words("{\"n\":4}", "hold=work");
  command.insert(command.begin(), oncekey_binary());
  Process process(command);
  ASSERT_TRUE(upstream_.audit().wait_for_arrivals(1));
  process.signal(SIGINT);
  EXPECT_EQ(process.wait(), 3) << process.output();
  EXPECT_EQ(KeyFile(path_).list()->size(), 1u);
  upstream_.open_gate("work");
}

}  // namespace
}  // namespace oncekey::test
