// The examples of docs/sql.md run as they are written there.
#include "e2e/gateway_fixture.h"
#include "support/documented_grants.h"
#include "support/postgres_client.h"
#include "support/shared_servers.h"

namespace oncekey::test {
namespace {

std::string output_of(const std::vector<std::string>& words) {
  Process process(words);
  EXPECT_EQ(process.wait().value_or(-1), 0) << process.output();
  process.wait_for_line([](const std::string&) { return false; });  // until both streams end
  return process.output();
}

class SqlExamplesTest : public testing::Test {
 protected:
  SqlExamplesTest() { output_of({oncekey_binary(), "migrate", "--store", url_}); }

  const std::string url_ = shared_postgres().fresh_database();
  const std::string folder_ = ONCEKEY_SOURCE_DIR "/examples/sql/";
};

TEST_F(SqlExamplesTest, PaymentInPlainPsql) {
  EXPECT_EQ(output_of({"/usr/bin/psql", "-X", url_, "-f", folder_ + "payment.psql"}),
            "1. the work is done, but the transaction is rolled back\n"
            "decision: execute\n"
            "payments: 0, keys: 0, messages: 0\n"
            "2. the same request again, and this time it is committed\n"
            "decision: execute\n"
            "completed: t\n"
            "payments: 1, messages: 1\n"
            "3. the client did not hear the answer, and repeats the request\n"
            "decision: replay, status: 201, answer: {\"paid\" : 1200}\n"
            "4. somebody uses the key for another request\n"
            "decision: mismatch\n");
}

TEST_F(SqlExamplesTest, PaymentsInPython) {
  EXPECT_EQ(output_of({"/usr/bin/python3", folder_ + "payments.py", url_}),
            "provider down: 503, rows: 0, messages: 0\n"
            "eight at once: 201, same answer: True, rows: 1, messages: 1\n"
            "another request with the key: 422\n");
}

// As docs/sql.md says that an application's role needs them, and a place for its own table.
TEST_F(SqlExamplesTest, TheGrantsOfAnApplicationAreEnoughForBoth) {
  PostgresClient admin(shared_postgres().admin_url(url_.substr(url_.rfind('/') + 1)));
  admin.execute(
      "DO $$ BEGIN CREATE ROLE examples_app LOGIN; EXCEPTION WHEN duplicate_object OR"
      " unique_violation THEN NULL; END $$;"
      "GRANT CREATE, USAGE ON SCHEMA public TO examples_app;" +
      documented_grants("**An application**", "app", "examples_app"));
  std::string url = url_;
  url.replace(url.find("//oncekey@") + 2, 7, "examples_app");
  const std::string psql = output_of({"/usr/bin/psql", "-X", url, "-f", folder_ + "payment.psql"});
  EXPECT_NE(psql.find("payments: 1, messages: not for this role to see\n"), std::string::npos)
      << psql;
  EXPECT_NE(psql.find("decision: mismatch\n"), std::string::npos) << psql;
  const std::string python = output_of({"/usr/bin/python3", folder_ + "payments.py", url});
  EXPECT_NE(python.find("rows: 1, messages: not for this role to see\n"), std::string::npos)
      << python;
}

}  // namespace
}  // namespace oncekey::test
