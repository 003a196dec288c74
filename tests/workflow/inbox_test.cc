// Messages that come twice, and natural keys.
#include "oncekey/inbox.h"

#include <thread>

#include "oncekey/natural_key.h"
#include "workflow/place.h"

namespace oncekey::test {
namespace {

class Inbox : public WorkflowTest {
 protected:
  static void write(Link& link, const std::string& key) {
    link.execute("INSERT INTO effects VALUES ('" + key + "', 'row')");
  }
  // Does the same on several threads, each with a connection of its own.
  void together(const std::function<void(Link&)>& work) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 5; ++i) {
      threads.emplace_back([&] {
        const auto own = place_.another_link();
        work(*own);
      });
    }
    for (auto& thread : threads) thread.join();
  }
};

ON_BOTH_DATABASES(Inbox);

TEST_P(Inbox, MessageIsHandledOnceByEachConsumer) {
  const auto handle = [&](Transaction& transaction) {
    write(link_, "k");
    transaction.enqueue({.destination = "next", .payload = "p"});
  };
  EXPECT_TRUE(consume_once(link_.database(), "mailer", "m-1", handle));
  EXPECT_FALSE(consume_once(link_.database(), "mailer", "m-1", handle));
  EXPECT_TRUE(consume_once(link_.database(), "ledger", "m-1", handle));
  EXPECT_TRUE(consume_once(link_.database(), "mailer", "m-2", handle));
  EXPECT_EQ(place_.effects("k", "row"), 3);
  EXPECT_EQ(place_.count(place_.own("outbox")), 3);
}

TEST_P(Inbox, HandlerThatThrowsLeavesTheMessageToCome) {
  const auto refuse = [&](Transaction&) {
    write(link_, "k");
    throw std::runtime_error("not now");
  };
  EXPECT_THROW(consume_once(link_.database(), "c", "m", refuse), std::runtime_error);
  EXPECT_FALSE(link_.database().in_transaction());
  EXPECT_EQ(place_.effects("k", "row"), 0);
  EXPECT_TRUE(consume_once(link_.database(), "c", "m", [&](Transaction&) { write(link_, "k"); }));
  EXPECT_EQ(place_.effects("k", "row"), 1);
}

TEST_P(Inbox, HandlerIsCalledAgainWhenTheDatabaseSaysSo) {
  int busy = 2;
  const auto handle = [&](Transaction&) {
    write(link_, "k");
    if (busy-- > 0) throw DatabaseError(DatabaseError::Kind::again, "deadlock");
  };
  EXPECT_TRUE(consume_once(link_.database(), "c", "m", handle));
  EXPECT_EQ(place_.effects("k", "row"), 1);
}

TEST_P(Inbox, WrongUseIsRefused) {
  const auto nothing = [](Transaction&) {};
  link_.database().begin();
  EXPECT_THROW(consume_once(link_.database(), "c", "m", nothing), Misuse);
  link_.database().rollback();
  EXPECT_THROW(
      consume_once(link_.database(), "c", "m", [&](Transaction&) { link_.execute("COMMIT"); }),
      Misuse);
  EXPECT_THROW(consume_once(link_.database(), "", "m", nothing), Misuse);
}

TEST_P(Inbox, OneMessageAtSeveralConsumersOfOneNameIsHandledOnce) {
  std::atomic<int> handled = 0;
  together([&](Link& own) {
    handled += consume_once(own.database(), "c", "m", [&](Transaction&) { write(own, "k"); });
  });
  EXPECT_EQ(handled, 1);
  EXPECT_EQ(place_.effects("k", "row"), 1);
}

TEST_P(Inbox, LockOnANaturalKeyMakesCheckThenActSafe) {
  together([&](Link& own) {
    own.database().begin();
    own.database().transaction().lock(natural_key({"order", "17"}));
    if (own.query("SELECT count(*) FROM effects WHERE key = '17'") == "0") write(own, "17");
    own.database().commit();
  });
  EXPECT_EQ(place_.effects("17", "row"), 1);
}

TEST_P(Inbox, GuardedUpsertNeverOverwritesAFinalState) {
  link_.execute("CREATE TABLE payments (id text PRIMARY KEY, status text, amount integer)");
  const GuardedUpsert upsert{"payments", {"id"}, {"status", "amount"}, "status", {"paid", "lost"}};
  const bool postgres = link_.is_postgres();
  std::string sql = guarded_upsert(upsert, postgres ? Dialect::postgresql : Dialect::sqlite);
  const auto put = [&](const std::string& status, int amount) {
    std::string bound = sql;
    const std::string values[] = {"'p1'", status, std::to_string(amount)};
    for (int i = 1; i <= 3; ++i) {
      const std::string mark = (postgres ? "$" : "?") + std::to_string(i);
      bound.replace(bound.find(mark), mark.size(), values[i - 1]);
    }
    link_.execute(bound);
    return link_.query("SELECT coalesce(status, 'none') || ' ' || amount FROM payments");
  };
  EXPECT_EQ(put("'new'", 1), "new 1");
  EXPECT_EQ(put("NULL", 2), "none 2");
  EXPECT_EQ(put("'sent'", 3), "sent 3");
  EXPECT_EQ(put("'paid'", 4), "paid 4");
  EXPECT_EQ(put("'sent'", 5), "paid 4");
  EXPECT_EQ(put("'lost'", 6), "paid 4");
  EXPECT_EQ(place_.count("payments"), 1);
}

}  // namespace
}  // namespace oncekey::test
