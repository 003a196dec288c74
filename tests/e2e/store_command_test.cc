// `oncekey migrate` and `oncekey check` on a real PostgreSQL: what they print, and how they end.
#include "e2e/gateway_fixture.h"
#include "support/json_text.h"
#include "support/shared_servers.h"

namespace oncekey::test {
namespace {

struct Ran {
  int exit_code = -1;
  std::string output;

  bool says(const std::string& text) const { return output.find(text) != std::string::npos; }
};

Ran run(std::vector<std::string> words) {
  words.insert(words.begin(), oncekey_binary());
  Process process(words);
  Ran ran{.exit_code = process.wait().value_or(-1)};
  process.wait_for_line([](const std::string&) { return false; });  // until both streams end
  ran.output = process.output();
  return ran;
}

class StoreCommandTest : public testing::Test {
 protected:
  const std::string url_ = shared_postgres().fresh_database();
};

TEST_F(StoreCommandTest, MigrateSaysWhatItDidAndThenThatThereIsNothingToDo) {
  const Ran planned = run({"migrate", "--store", url_, "--dry-run"});
  EXPECT_EQ(planned.exit_code, 0) << planned.output;
  EXPECT_TRUE(planned.says("would apply 0001_records\n")) << planned.output;
  const Ran first = run({"migrate", "--store", url_});
  EXPECT_EQ(first.exit_code, 0) << first.output;
  EXPECT_TRUE(first.says("applied 0001_records\napplied 0002_functions\n")) << first.output;
  const Ran second = run({"migrate", "--store", url_});
  EXPECT_EQ(second.exit_code, 0) << second.output;
  EXPECT_TRUE(second.says("nothing to do")) << second.output;
  const Ran json = run({"migrate", "--store", url_, "--json"});
  EXPECT_EQ(json_text(json.output, "/applied"), "[]") << json.output;
  EXPECT_EQ(json_text(json.output, "/version_before"), json_text(json.output, "/version_after"));
}

TEST_F(StoreCommandTest, MigrateTakesTheStoreOfTheFileAndThePostgresPartOfTwo) {
  TemporaryFolder folder;
  const std::string file =
      folder.write("a.toml", "store = \"" + url_ + "+redis://127.0.0.1:1/0\"\n");
  const Ran ran = run({"migrate", "--config", file});
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_TRUE(ran.says("applied 0001_records")) << ran.output;
}

TEST_F(StoreCommandTest, MigrateIsNotNeededByOtherStores) {
  const Ran ran = run({"migrate", "--store", "memory:"});
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_TRUE(ran.says("needs no migration")) << ran.output;
  EXPECT_EQ(run({"migrate", "--store", "mysql://a"}).exit_code, 2);
  EXPECT_EQ(run({"migrate", "--no-such-flag"}).exit_code, 2);
}

TEST_F(StoreCommandTest, MigrateWithoutAnyStoreIsAMistake) {
  const Ran ran = run({"migrate"});
  EXPECT_EQ(ran.exit_code, 2) << ran.output;
  EXPECT_TRUE(ran.says("ONCEKEY_STORE")) << ran.output;
  EXPECT_FALSE(ran.says("nothing to do")) << ran.output;
}

TEST_F(StoreCommandTest, MigrateRefusesANewerSchema) {
  run({"migrate", "--store", url_});
  PostgresClient(url_).execute(
      "INSERT INTO oncekey.migrations (version, name, checksum) VALUES (999, 'later', 'x')");
  const Ran ran = run({"migrate", "--store", url_});
  EXPECT_EQ(ran.exit_code, 1) << ran.output;
  EXPECT_TRUE(ran.says("version 999")) << ran.output;
}

TEST_F(StoreCommandTest, CheckPrintsFactsAboutTheServer) {
  run({"migrate", "--store", url_});
  const Ran text = run({"check", "--store", url_});
  EXPECT_EQ(text.exit_code, 0) << text.output;
  for (const char* fact :
       {"good     server version: 15", "good     role: primary", "good     privileges: complete",
        "good     fsync: on", "good     synchronous_commit: on", "good     connections left: ",
        "good     clock difference: ", "default isolation: read committed",
        "good     autovacuum: on, "}) {
    EXPECT_TRUE(text.says(fact)) << fact << " is not in\n" << text.output;
  }
  const Ran json = run({"check", "--store", url_, "--json"});
  EXPECT_EQ(json_text(json.output, "/servers/0/good"), "true") << json.output;
  EXPECT_EQ(json_text(json.output, "/servers/0/facts/1/value"), "primary") << json.output;
}

TEST_F(StoreCommandTest, CheckFailsWithoutSchemaAndSaysWhatToRun) {
  const Ran ran = run({"check", "--store", url_});
  EXPECT_EQ(ran.exit_code, 1) << ran.output;
  EXPECT_TRUE(ran.says("good     privileges: can create the schema")) << ran.output;
  EXPECT_TRUE(ran.says("error    schema version: 0")) << ran.output;
  EXPECT_TRUE(ran.says("run: oncekey migrate --store " + url_ + "\n")) << ran.output;
  EXPECT_EQ(run({"check", "--store", url_, "--offline"}).exit_code, 0);
}

TEST_F(StoreCommandTest, CheckNamesMissingPrivilegesAndWeakSettings) {
  run({"migrate", "--store", url_});
  const std::string database = url_.substr(url_.rfind('/') + 1);
  PostgresClient admin(shared_postgres().admin_url(database));
  admin.execute(
      "DO $$ BEGIN CREATE ROLE check_stranger LOGIN; EXCEPTION WHEN duplicate_object OR"
      " unique_violation THEN NULL; END $$;"
      "GRANT USAGE ON SCHEMA oncekey TO check_stranger;"
      "GRANT SELECT ON oncekey.migrations TO check_stranger;"
      "ALTER DATABASE " +
      database + " SET synchronous_commit = off");
  std::string stranger = url_;
  stranger.replace(stranger.find("//oncekey@") + 2, 7, "check_stranger");
  const Ran ran = run({"check", "--store", stranger});
  EXPECT_EQ(ran.exit_code, 1) << ran.output;
  EXPECT_TRUE(ran.says("SELECT ON oncekey.records")) << ran.output;
  for (const char* privilege : {"SELECT", "INSERT", "UPDATE", "DELETE"}) {
    EXPECT_TRUE(ran.says(std::string(privilege) + " ON oncekey.workflows")) << ran.output;
  }
  EXPECT_TRUE(ran.says("EXECUTE ON ALL FUNCTIONS IN SCHEMA oncekey")) << ran.output;
  EXPECT_FALSE(ran.says("EXECUTE ON FUNCTION")) << ran.output;
  EXPECT_TRUE(ran.says("warning  synchronous_commit: off")) << ran.output;
  admin.execute(
      "GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA oncekey TO check_stranger;"
      "REVOKE EXECUTE ON FUNCTION oncekey.reserve_one FROM check_stranger");
  const Ran one = run({"check", "--store", stranger});
  EXPECT_TRUE(one.says("EXECUTE ON FUNCTION oncekey.reserve_one")) << one.output;
  EXPECT_FALSE(one.says("ALL FUNCTIONS")) << one.output;
  admin.execute("ALTER DATABASE " + database + " RESET synchronous_commit");
}

TEST_F(StoreCommandTest, UnreachableServerIsReportedWithoutThePassword) {
  const std::string away = "postgres://me:hunter2@127.0.0.1:1/shop";
  for (const char* command : {"check", "migrate"}) {
    const Ran ran = run({command, "--store", away});
    EXPECT_EQ(ran.exit_code, 1) << ran.output;
    EXPECT_TRUE(ran.says("postgres://me:***@127.0.0.1:1/shop")) << ran.output;
    EXPECT_FALSE(ran.says("hunter2")) << ran.output;
    EXPECT_FALSE(run({command, "--store", away, "--json"}).says("hunter2"));
  }
}

// It is a mistake in the configuration, so nobody has to connect to find it.
TEST_F(StoreCommandTest, AWrongStoreUrlIsABadConfigurationForEveryCommand) {
  const std::pair<std::string, std::string> cases[] = {
      {"postgres://me:hunter2@127.0.0.1:1/d?sslmod=require", "\"sslmod\""},
      {"postgres://me@127.0.0.1:99999/d", "the port"},
      {"redis://127.0.0.1:1?wiat=1", "\"wiat\""},
      {"postgres://me@127.0.0.1:1/d+redis://127.0.0.1:x", "the port"}};
  for (const auto& [url, named] : cases) {
    for (const std::vector<std::string>& command : {std::vector<std::string>{"check"},
                                                    {"check", "--offline"},
                                                    {"check", "--json"},
                                                    {"migrate"},
                                                    {"serve", "--to", "http://127.0.0.1:1"}}) {
      std::vector<std::string> words = command;
      words.insert(words.end(), {"--store", url});
      const Ran ran = run(words);
      EXPECT_EQ(ran.exit_code, 2) << command[0] << " " << url << "\n" << ran.output;
      std::string said = ran.output;
      std::erase(said, '\\');  // of JSON
      EXPECT_NE(said.find(named), std::string::npos) << ran.output;
      EXPECT_FALSE(ran.says("hunter2")) << ran.output;
    }
  }
}

// Whoever reads the URL in another way than we do must not repeat a piece of the password.
TEST_F(StoreCommandTest, PasswordsThatAreNotEncodedAreNotPrintedInPartEither) {
  std::vector<std::string> urls{"postgres://127.0.0.1:1/d?user=u&password=x&Geheim-9",
                                "postgres://127.0.0.1:1/d?user=u&password=Sup3r@Geheim-9",
                                "postgres://u:Sup3r@Geheim-9@127.0.0.1:1/d",
                                "postgres://u:Sup3r#Geheim-9@127.0.0.1:1/d"};
  for (const std::string password :
       {"Sup3r?Geheim-9", "Sup3r/Geheim-9", "Geheim-9%ZZ", "x+redis://Geheim-9"}) {
    urls.push_back("postgres://u:" + password + "@127.0.0.1:1/d");
    urls.push_back("redis://u:" + password + "@127.0.0.1:1/0");
    urls.push_back("postgres://u@127.0.0.1:1/d+redis://u:" + password + "@127.0.0.1:1/0");
  }
  for (const std::string& url : urls) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"check", "--store"},
          {"check", "--json", "--store"},
          {"check", "--offline", "--store"},
          {"check", "--stroe"},
          {"migrate", "--store"},
          {"migrate", "--json", "--store"},
          {"serve", "--to", "http://127.0.0.1:1", "--store"}}) {
      std::vector<std::string> words = command;
      words.push_back(url);
      const Ran ran = run(words);
      EXPECT_FALSE(ran.says("Geheim")) << url << "\n" << ran.output;
      EXPECT_FALSE(ran.says("Sup3r")) << url << "\n" << ran.output;
    }
  }
  EXPECT_TRUE(run({"check", "--store", urls.back()}).says("percent-encode")) << urls.back();
  EXPECT_FALSE(run({"check", "--stroe=" + urls.front()}).says("Geheim"));
  EXPECT_FALSE(run({urls.front()}).says("Geheim"));
  EXPECT_FALSE(run({"serve", "--to", urls.front()}).says("Geheim"));
}

TEST_F(StoreCommandTest, AGatewayThatRunsDoesNotLogThePasswordEither) {
  run({"migrate", "--store", url_});
  std::string url = url_;  // the server trusts whoever connects
  url.insert(url.find('@'), ":Sup3r?Geheim-9");
  Process gateway({oncekey_binary(), "serve", "--to", "http://127.0.0.1:1", "--listen",
                   "127.0.0.1:0", "--admin", "127.0.0.1:0", "--store", url});
  const auto line = gateway.wait_for_line(
      [](const std::string& text) { return json_text(text, "/event") == "listening"; });
  ASSERT_TRUE(line) << gateway.output();
  EXPECT_NE(json_text(*line, "/store").find("oncekey:***@"), std::string::npos) << *line;
  gateway.signal(SIGTERM);
  EXPECT_EQ(gateway.wait(), 0) << gateway.output();
  EXPECT_EQ(gateway.output().find("Geheim"), std::string::npos) << gateway.output();
}

TEST_F(StoreCommandTest, CheckLooksAtBothServersOfATieredStore) {
  run({"migrate", "--store", url_});
  const std::string redis = shared_redis().fresh_database();
  const Ran ran = run({"check", "--store", url_ + "+" + redis});
  EXPECT_TRUE(ran.says("\nstore " + url_ + "\n")) << ran.output;
  EXPECT_TRUE(ran.says("\nstore " + redis + "\n")) << ran.output;
  EXPECT_TRUE(ran.says("good     use: cache")) << ran.output;
  EXPECT_FALSE(ran.says("run again")) << "PostgreSQL has the records: " << ran.output;
}

TEST_F(StoreCommandTest, CheckWarnsOfACacheThatIsAwayAsServeStartsWithoutIt) {
  run({"migrate", "--store", url_});
  const Ran ran = run({"check", "--store", url_ + "+redis://127.0.0.1:1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.output;
  EXPECT_TRUE(ran.says("warning  connection: none: ")) << ran.output;
  EXPECT_TRUE(ran.says("A gateway starts and serves without its cache")) << ran.output;
  const Ran alone = run({"check", "--store", "redis://127.0.0.1:1"});
  EXPECT_EQ(alone.exit_code, 1) << alone.output;
}

}  // namespace
}  // namespace oncekey::test
