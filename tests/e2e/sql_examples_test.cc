// The examples of docs/sql.md run as they are written there.
#include "e2e/gateway_fixture.h"
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

}  // namespace
}  // namespace oncekey::test
