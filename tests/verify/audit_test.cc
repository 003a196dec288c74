// oncekey audit: documents, configurations and running APIs, by the real binary.
#include <gtest/gtest.h>

#include "support/command_run.h"
#include "support/gateway_process.h"
#include "support/json_text.h"
#include "support/scripted_upstream.h"
#include "support/temporary_folder.h"

namespace oncekey::test {
namespace {

// The creating step declares its key, the following ones do not.
constexpr const char* shop_yaml = R"(openapi: 3.1.0
info: {title: Shop, version: '1'}
servers: [{url: 'https://shop.example.com/v1'}]
paths:
  /orders:
    parameters: [{$ref: '#/components/parameters/Key'}]
    post:
      operationId: order
      responses:
        '201':
          links: {pay: {operationId: pay}}
  /orders/{id}:
    put: {responses: {}}
    delete: {responses: {}}
    patch: {responses: {}}
  /orders/{id}/cancel:
    post:
      parameters: [{name: id, in: path, required: true, example: o-1}]
      responses: {}
  /payments:
    post: {operationId: pay, responses: {}}
components:
  parameters:
    Key: {name: IDEMPOTENCY-KEY, in: header, required: true}
)";

constexpr const char* shop_json = R"({"openapi": "3.0.3", "info": {"title": "Shop", "version": "1"},
  "servers": [{"url": "/v1"}],
  "paths": {
    "/orders": {"post": {"parameters": [
      {"name": "Idempotency-Key", "in": "header", "required": true}], "responses": {}}},
    "/orders/{id}/cancel": {"post": {"responses": {}}}}})";

class AuditCommand : public ::testing::Test {
 protected:
  CommandRun audit(std::vector<std::string> words) const {
    words.insert(words.begin(), "audit");
    return run_command(words);
  }
  std::string document(const std::string& text, const std::string& name = "shop.yaml") const {
    return folder_.write(name, text);
  }
  std::string config(const std::string& routes) const {
    return folder_.write("oncekey.toml", "upstream = \"http://127.0.0.1:3000\"\n" + routes);
  }

  TemporaryFolder folder_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(AuditCommand, FindsTheStepsWithoutAKey) {
  const CommandRun run = audit({document(shop_yaml)});
  EXPECT_EQ(run.exit_code, 1) << run.all();
  EXPECT_TRUE(has(run.out, "pass     POST   /orders ")) << run.out;
  EXPECT_TRUE(has(run.out, "FAIL     POST   /orders/{id}/cancel")) << run.out;
  EXPECT_TRUE(has(run.out, "FAIL     PATCH  /orders/{id}")) << run.out;
  EXPECT_TRUE(has(run.out, "pass     PUT    /orders/{id}")) << run.out;
  EXPECT_TRUE(has(run.out, "POST /orders → POST /orders/{id}/cancel\n")) << run.out;
  EXPECT_TRUE(has(run.out, "POST /orders → POST /payments (link pay)")) << run.out;
  EXPECT_TRUE(has(run.out, "Not safe to retry: 3 operations have a gap.")) << run.out;
}

TEST_F(AuditCommand, ReadsJsonAsWell) {
  const CommandRun run = audit({document(shop_json, "shop.json"), "--json"});
  EXPECT_EQ(run.exit_code, 1) << run.all();
  EXPECT_EQ(json_text(run.out, "/openapi"), "3.0.3") << run.out;
  EXPECT_EQ(json_text(run.out, "/fail"), "1");
  EXPECT_EQ(json_text(run.out, "/operations/0/declared"), "required");
  EXPECT_EQ(json_text(run.out, "/operations/1/verdict"), "fail");
  EXPECT_EQ(json_text(run.out, "/operations/1/line"), "6");
  EXPECT_EQ(json_text(run.out, "/flows/0/to"), "POST /orders/{id}/cancel");
}

TEST_F(AuditCommand, ItsRoutesCloseTheGapInAConfiguration) {
  const std::string file = document(shop_yaml);
  const std::string routes =
      "[[route]]\nmatch = \"POST /v1/orders\"\n"
      "[[route]]\nmatch = \"POST /v1/orders/*/cancel\"\nkey = \"off\"\n";
  const CommandRun before = audit({file, "--config", config(routes), "--json"});
  EXPECT_EQ(before.exit_code, 1) << before.all();
  EXPECT_EQ(json_text(before.out, "/fail"), "3") << before.out;
  const std::string missing = json_text(before.out, "/routes");
  EXPECT_TRUE(has(missing, "match = \"POST /v1/orders/*/cancel\"")) << missing;
  EXPECT_TRUE(has(missing, "match = \"PATCH /v1/orders/*\"")) << missing;
  const std::string fixed = config(missing + "\n" + routes);
  const CommandRun after = audit({file, "--config", fixed, "--json"});
  EXPECT_EQ(after.exit_code, 0) << after.all();
  EXPECT_EQ(json_text(after.out, "/fail"), "0");
  EXPECT_EQ(json_text(after.out, "/routes"), "");
  EXPECT_EQ(run_command({"check", "--offline", "--config", fixed}).exit_code, 0);
}

TEST_F(AuditCommand, TheTablePrintsWhatTheConfigurationDoes) {
  const CommandRun run = audit({document(shop_yaml), "--config",
                                config("[[route]]\nmatch = \"POST *\"\nfail_open = true\n")});
  EXPECT_EQ(run.exit_code, 1) << run.all();
  EXPECT_TRUE(has(run.out, "required, route 1")) << run.out;
  EXPECT_TRUE(has(run.out, "no route")) << run.out;
  EXPECT_TRUE(has(run.out, "while the store is down")) << run.out;
}

TEST_F(AuditCommand, ARunningGatewayRefusesEveryOneOfThem) {
  ScriptedUpstream upstream;
  GatewayProcess gateway({.upstream = upstream.url()});
  gateway.start();
  const std::string url = "http://127.0.0.1:" + std::to_string(gateway.port());
  const std::string junit = (folder_.path() / "junit.xml").string();
  const CommandRun run = audit({document(shop_yaml), "--url", url, "--junit", junit});
  EXPECT_EQ(run.exit_code, 0) << run.all();
  EXPECT_TRUE(has(run.out, "refused 400")) << run.out;
  EXPECT_EQ(upstream.audit().size(), 0u) << "nothing of it came through";
  EXPECT_TRUE(has(read_text(junit), "tests=\"6\" failures=\"0\"")) << read_text(junit);
}

TEST_F(AuditCommand, ANaiveServerIsCaughtExecuting) {
  ScriptedUpstream naive;
  const std::string junit = (folder_.path() / "junit.xml").string();
  const CommandRun run =
      audit({document(shop_yaml), "--url", naive.url(), "--junit", junit, "--json"});
  EXPECT_EQ(run.exit_code, 1) << run.all();
  EXPECT_EQ(json_text(run.out, "/operations/0/verdict"), "fail") << "although it is declared";
  EXPECT_EQ(json_text(run.out, "/operations/0/asked/answer"), "executed") << run.out;
  EXPECT_TRUE(has(read_text(junit), "executed without a key")) << read_text(junit);
  std::string targets;
  for (const Arrival& arrival : naive.audit().all()) {
    targets += arrival.method + " " + arrival.target + "\n";
    EXPECT_EQ(arrival.request.body, "") << "no body that could be executed";
    EXPECT_EQ(arrival.key, "");
  }
  EXPECT_EQ(targets,
            "POST /v1/orders\nPATCH /v1/orders/oncekey-audit\nPOST /v1/orders/o-1/cancel\n"
            "POST /v1/payments\n");
}

TEST_F(AuditCommand, SendsNothingWhenItIsNotAllowedTo) {
  ScriptedUpstream naive;
  const std::string file = document(shop_yaml);
  const CommandRun plan = audit({file, "--url", naive.url(), "--plan"});
  EXPECT_EQ(plan.exit_code, 0) << plan.all();
  EXPECT_TRUE(has(plan.out, "POST   " + naive.url() + "/v1/orders/o-1/cancel\n")) << plan.out;
  EXPECT_TRUE(has(plan.out, "4 requests")) << plan.out;
  const CommandRun foreign = audit({file, "--url", "http://shop.example.com"});
  EXPECT_EQ(foreign.exit_code, 2);
  EXPECT_TRUE(has(foreign.err, "--yes")) << foreign.err;
  const CommandRun lost = audit({file, "--url", naive.url(), "--junit", "/nowhere/junit.xml"});
  EXPECT_EQ(lost.exit_code, 2) << lost.all();
  EXPECT_EQ(naive.audit().size(), 0u);
  EXPECT_EQ(audit({file, "--url", naive.url(), "--max-requests", "1"}).exit_code, 1);
  EXPECT_EQ(naive.audit().size(), 1u);
}

TEST_F(AuditCommand, EndsWithTwoWhenNobodyListens) {
  const std::string url = "http://127.0.0.1:" + std::to_string(free_port());
  const CommandRun run = audit({document(shop_yaml), "--url", url});
  EXPECT_EQ(run.exit_code, 2) << run.all();
  EXPECT_TRUE(has(run.err, "cannot be asked")) << run.err;
}

TEST_F(AuditCommand, SaysWhatIsWrongWithADocumentAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"{\"openapi\": \"3.0.0\",\n \"paths\": {,}}", "broken.yaml:2:12: not valid JSON"},
      {"openapi: 3.0.0\npaths:\n  /a: [\n", "not valid YAML"},
      {"swagger: '2.0'\n", "broken.yaml:1:10: Swagger 2.0 is not read"},
      {"openapi: 3.1.0\npaths:\n  /a: {$ref: 'other.yaml#/a'}\n",
       "broken.yaml:3:14: $ref to another document is not followed: other.yaml#/a"},
      {"openapi: 3.1.0\npaths:\n  /a: {post: {parameters: [{$ref: '#/none'}]}}\n",
       "$ref leads to nothing: #/none"}};
  for (const auto& [text, wanted] : cases) {
    const CommandRun run = audit({document(text, "broken.yaml")});
    EXPECT_EQ(run.exit_code, 2) << text;
    EXPECT_TRUE(has(run.err, wanted)) << run.err;
  }
  EXPECT_EQ(audit({(folder_.path() / "absent.yaml").string()}).exit_code, 2);
  EXPECT_EQ(audit({folder_.path().string()}).exit_code, 2) << "a folder";
  const CommandRun bad = audit({document(shop_yaml), "--config", config("listen_to = 1\n")});
  EXPECT_EQ(bad.exit_code, 2);
  EXPECT_TRUE(has(bad.err, "oncekey.toml:2:1")) << bad.err;
}

TEST_F(AuditCommand, RefusesFlagsThatMakeNoSense) {
  const std::string file = document(shop_yaml);
  for (const std::vector<std::string>& flags : std::vector<std::vector<std::string>>{
           {"--plan"},
           {"--header", "A: b"},
           {"--methods", "GET"},
           {"--except", "search"},
           {"--base-path", "v1"},
           {"--key-header", "no token"},
           {"--url", "http://127.0.0.1:1", "--header", "Idempotency-Key: k"}}) {
    std::vector<std::string> words = {file};
    words.insert(words.end(), flags.begin(), flags.end());
    EXPECT_EQ(audit(words).exit_code, 2) << flags.front();
  }
}

}  // namespace
}  // namespace oncekey::test
