// PostgreSQL servers by name: looking a name up holds nobody up longer than a server may.
#include <future>

#include "contract.h"
#include "store/postgres_session.h"
#include "support/shared_servers.h"
#include "support/waiting.h"

namespace oncekey::store {
namespace {

class PostgresNames : public ::testing::Test {
 protected:
  static constexpr auto patience = std::chrono::milliseconds(200);

  // The test's server under the name of a host; `hosts` may have others before it.
  static std::string url_with(const std::string& hosts) {
    std::string url = fresh_clocked_database();
    const std::string host = "127.0.0.1";
    const std::size_t at = url.find(host);
    EXPECT_NE(at, std::string::npos) << url;
    const std::size_t port_at = at + host.size() + 1;
    const std::string port = url.substr(port_at, url.find('/', port_at) - port_at);
    std::string named;
    std::size_t from = 0;
    for (std::size_t comma = 0; comma != hosts.npos; from = comma + 1) {
      comma = hosts.find(',', from);
      named += (from == 0 ? "" : ",") + hosts.substr(from, comma - from) + ":" + port;
    }
    return url.replace(at, host.size() + 1 + port.size(), named);
  }
  // Does not know silent.example before it is told to answer.
  LookUp look_up() {
    return [may_answer = may_answer_.get_future().share()](const std::string& host,
                                                           std::uint16_t port) -> Addresses {
      if (host == "silent.example") may_answer.wait();
      if (host == "nowhere.example") return std::string("its name is not found");
      return look_up_by_system("127.0.0.1", port);
    };
  }
  static PostgresSession::Deadline in(std::chrono::milliseconds time) {
    return std::chrono::steady_clock::now() + time;
  }
  static std::string reason(const Result<PostgresConnection*, PostgresError>& result) {
    return result ? "" : result.error().message;
  }

  std::promise<void> may_answer_;
};

TEST_F(PostgresNames, ThatAreStillBeingLookedUpHoldUpNobody) {
  PostgresSession session(url_with("silent.example"), 2'000, look_up());
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) {
    const auto found = session.ready(in(patience));
    EXPECT_EQ(reason(found), "silent.example: its name is still being looked up");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
  may_answer_.set_value();
  EXPECT_TRUE(test::eventually([&] { return session.ready(in(patience * 10)).ok(); }));
}

TEST_F(PostgresNames, ThatNobodyAnswersForDoNotKeepFromTheNextHost) {
  PostgresSession session(url_with("silent.example,named.example"), 2'000, look_up());
  EXPECT_EQ(reason(session.ready(in(std::chrono::seconds(10)))), "");
  may_answer_.set_value();
}

TEST_F(PostgresNames, ThatAreUnknownAreToldOf) {
  PostgresSession session(url_with("nowhere.example"), 2'000, look_up());
  EXPECT_EQ(reason(session.ready(in(patience))), "nowhere.example: its name is not found");
  may_answer_.set_value();
}

}  // namespace
}  // namespace oncekey::store
