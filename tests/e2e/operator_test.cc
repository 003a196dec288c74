// What an operator sees and may do besides keys: routes, status, and refusals.
#include "e2e/operator_fixture.h"

namespace oncekey::test {
namespace {

class Operator : public OperatorFixture {};

TEST_F(Operator, RouteIsPausedAndResumed) {
  serve_with_tokens("[[route]]\nmatch = \"POST /orders\"\n");
  EXPECT_TRUE(contains(done({"route", "list"}), "POST /orders"));
  const std::string paused =
      done({"route", "pause", "POST /orders", "--reason", "provider is down", "--for", "1h"});
  EXPECT_TRUE(contains(paused, "executes nothing new")) << paused;
  EXPECT_EQ(code(post(key_a)), "route_paused");
  EXPECT_TRUE(contains(done({"route", "list"}), "by alice: provider is down"));
  EXPECT_TRUE(contains(done({"status"}), "provider is down"));
  done({"route", "resume", "POST /orders", "--reason", "it is back"});
  EXPECT_EQ(post(key_a).status, 201);
  EXPECT_EQ(oncekey({"route", "pause", "POST /other", "--reason", "x"}).exit_code, 3);
  EXPECT_EQ(oncekey({"route", "resume", "POST /orders", "--reason", "x"}).exit_code, 4);
}

TEST_F(Operator, StatusTellsOfTheStoreAndTheUnknown) {
  serve_with_tokens();
  make_unknown(key_a);
  const std::string status = done({"status"});
  EXPECT_TRUE(contains(status, "rocksdb")) << status;
  EXPECT_TRUE(contains(status, key_a)) << status;
  EXPECT_EQ(json_text(done({"status", "--json"}), "/unknown/count"), "1");
}

TEST_F(Operator, WhoMayNotIsToldWhatToDo) {
  serve_with_tokens();
  make_unknown(key_a);
  const CommandRun wrong = oncekey({"key", "list"}, "wrong-token-0123456789");
  EXPECT_EQ(wrong.exit_code, 4) << wrong.all();
  EXPECT_TRUE(contains(wrong.err, "--token-file")) << wrong.err;
  EXPECT_FALSE(contains(wrong.all(), "wrong-token")) << "the token is shown";
  const CommandRun read_only = oncekey({"key", "release", key_a, "--reason", "x"}, reader);
  EXPECT_EQ(read_only.exit_code, 4) << read_only.all();
  EXPECT_TRUE(contains(read_only.err, "may only read")) << read_only.err;
  EXPECT_EQ(oncekey({"key", "show", key_a}, reader).exit_code, 0);
  EXPECT_EQ(oncekey({"key", "show", key_a, "--body"}, reader).exit_code, 4);
}

TEST_F(Operator, GatewayWithoutTokensIsSaidToNeedOneItself) {
  serve();
  const CommandRun run = oncekey({"key", "release", key_a, "--reason", "x"});
  EXPECT_EQ(run.exit_code, 4) << run.all();
  EXPECT_TRUE(contains(run.err, "The gateway or worker itself needs one")) << run.err;
  EXPECT_TRUE(contains(run.err, "--token-file FILE")) << run.err;
  EXPECT_FALSE(contains(run.err, "Bearer")) << run.err;
}

TEST_F(Operator, NobodyListensIsAnExitCodeOfItsOwn) {
  const std::string nobody = "http://127.0.0.1:1";
  for (const std::vector<std::string>& words : {std::vector<std::string>{"status"},
                                                {"key", "list"},
                                                {"tail"},
                                                {"outbox", "list"},
                                                {"key", "release", key_a, "--reason", "x"}}) {
    std::vector<std::string> command = words;
    command.insert(command.end(), {"--admin", nobody});
    const CommandRun run = run_command(command);
    EXPECT_EQ(run.exit_code, 5) << words[0] << ": " << run.all();
    EXPECT_EQ(run.out, "");
    EXPECT_TRUE(contains(run.err, nobody)) << run.err;
  }
}

TEST_F(Operator, MistakesAreFoundBeforeAnythingIsSent) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"key"},
        {"key", "lst"},
        {"key", "release", key_a},
        {"key", "resolve", key_a, "--reason", "x"},
        {"key", "resolve", key_a, "--executed", "--not-executed", "--reason", "x"},
        {"key", "resolve", key_a, "--executed", "--body", "b", "--reason", "x"},
        {"key", "resolve", key_a, "--not-executed", "--status", "201", "--reason", "x"},
        {"key", "list", "--state", "lost"},
        {"outbox", "retry", "--reason", "x"},
        {"outbox", "discard", "7"},
        {"key", "list", "--token-file", "/nonexistent"}}) {
    const CommandRun run = run_command(words);
    EXPECT_EQ(run.exit_code, 2) << run.all();
    EXPECT_EQ(run.out, "") << run.out;
    EXPECT_NE(run.err, "");
  }
}

}  // namespace
}  // namespace oncekey::test
