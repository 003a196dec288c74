// What a worker may rely on, on every database: claims, order, outcomes, and waking up.
#include <algorithm>
#include <latch>
#include <set>
#include <thread>

#include "folder.h"
#include "outbox_queues.h"
#include "support/waiting.h"

namespace oncekey::outbox {
namespace {

using std::chrono::milliseconds;

// Leases that no test outlasts, and one that is over at once.
constexpr milliseconds long_lease{600'000};
constexpr milliseconds no_lease{0};
constexpr milliseconds long_wait{60'000};

class OutboxQueue : public ::testing::TestWithParam<QueueUnderTest> {
 protected:
  void SetUp() override {
    service_ = GetParam().open(folder_.path());
    ASSERT_NE(service_, nullptr);
    queue_ = service_->open_queue();
    ASSERT_NE(queue_, nullptr);
  }

  MessageId enqueue(const std::string& payload, const std::string& aggregate = "",
                    const std::string& destination = "hook") {
    Message message;
    message.destination = destination;
    message.payload = payload;
    message.aggregate = aggregate;
    service_->database().begin();
    const MessageId id = service_->database().transaction().enqueue(message);
    service_->database().commit();
    return id;
  }

  template <class T>
  static T value(Result<T, std::string> answer) {
    if (answer) return std::move(*answer);
    ADD_FAILURE() << answer.error();
    return T();
  }

  std::vector<Claimed> claim(std::size_t limit = 100, milliseconds lease = long_lease) {
    return value(queue_->claim("worker 1", limit, lease));
  }
  static std::vector<std::string> payloads(const std::vector<Claimed>& claimed) {
    std::vector<std::string> texts;
    for (const Claimed& each : claimed) texts.push_back(each.message.payload);
    return texts;
  }
  using Texts = std::vector<std::string>;

  // True: the claim was held.
  template <class What>
  bool record(const Claimed& claimed, What what) {
    Outcome outcome;
    outcome.id = claimed.id;
    outcome.claim = claimed.claim;
    outcome.what = std::move(what);
    return value(queue_->record({&outcome, 1})).empty();
  }
  Entry entry(MessageId id) {
    auto found = value(queue_->find(id));
    if (!found) ADD_FAILURE() << "there is no message " << id;
    return found.value_or(Entry());
  }

  store::Folder folder_;
  std::unique_ptr<ServiceDatabase> service_;
  std::unique_ptr<Queue> queue_;
};
INSTANTIATE_TEST_SUITE_P(Databases, OutboxQueue, ::testing::ValuesIn(all_queues()),
                         [](const auto& queue) { return queue.param.name; });

TEST_P(OutboxQueue, MessageArrivesAsItWasWritten) {
  Message message;
  message.destination = "hook";
  message.payload = std::string("\0\xff{}\n", 5);
  message.message_key = "order-17-paid";
  message.aggregate = "order 17";
  message.headers = {{"Content-Type", "application/json"}, {"X-A", ""}};
  service_->database().begin();
  const MessageId id = service_->database().transaction().enqueue(message);
  EXPECT_TRUE(claim().empty()) << "before the commit";
  service_->database().commit();
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].id, id);
  EXPECT_EQ(claimed[0].attempt, 1u);
  EXPECT_FALSE(claimed[0].taken_over);
  EXPECT_EQ(claimed[0].message.destination, "hook");
  EXPECT_EQ(claimed[0].message.payload, message.payload);
  EXPECT_EQ(claimed[0].message.message_key, "order-17-paid");
  EXPECT_EQ(claimed[0].message.aggregate, "order 17");
  EXPECT_EQ(claimed[0].message.headers, message.headers);
  EXPECT_GT(claimed[0].created_at, 0);
}

TEST_P(OutboxQueue, MessageThatWasRolledBackIsNeverSeen) {
  Message message;
  message.destination = "hook";
  service_->database().begin();
  service_->database().transaction().enqueue(message);
  service_->database().rollback();
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(value(queue_->stats()).waiting, 0u);
}

TEST_P(OutboxQueue, EveryMessageHasAKeyOfItsOwn) {
  enqueue("a");
  enqueue("b");
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 2u);
  EXPECT_GE(claimed[0].message.message_key.size(), 16u);
  EXPECT_NE(claimed[0].message.message_key, claimed[1].message.message_key);
}

TEST_P(OutboxQueue, OldestComesFirstAndWithinTheLimit) {
  for (const char* payload : {"a", "b", "c"}) enqueue(payload);
  EXPECT_EQ(payloads(claim(2)), (Texts{"a", "b"}));
  EXPECT_EQ(payloads(claim(2)), (Texts{"c"}));
  EXPECT_TRUE(claim(2).empty());
}

TEST_P(OutboxQueue, TwoWorkersNeverHoldTheSameMessage) {
  constexpr int messages = 60;
  for (int i = 0; i < messages; ++i) enqueue(std::to_string(i));
  std::mutex mutex;
  std::multiset<MessageId> taken;
  std::latch start(3);
  std::vector<std::jthread> workers;
  for (int w = 0; w < 3; ++w) {
    workers.emplace_back([&, w] {
      const auto queue = service_->open_queue();
      start.arrive_and_wait();
      for (int idle = 0; idle < 3;) {
        const auto claimed = value(queue->claim("worker " + std::to_string(w), 5, long_lease));
        if (claimed.empty()) ++idle;
        std::lock_guard lock(mutex);
        for (const Claimed& each : claimed) taken.insert(each.id);
      }
    });
  }
  workers.clear();
  EXPECT_EQ(taken.size(), static_cast<std::size_t>(messages));
  EXPECT_EQ(std::set<MessageId>(taken.begin(), taken.end()).size(), taken.size());
}

TEST_P(OutboxQueue, DeliveredStaysWithItsProviderIdUntilItIsReaped) {
  const MessageId id = enqueue("a");
  const auto claimed = claim();
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(entry(id).state, "claimed");
  EXPECT_EQ(entry(id).owner, "worker 1");
  EXPECT_TRUE(record(claimed[0], Delivered{"ch_1"}));
  EXPECT_EQ(entry(id).state, "delivered");
  EXPECT_EQ(entry(id).provider_id, "ch_1");
  EXPECT_GT(entry(id).delivered_at, 0);
  EXPECT_TRUE(claim().empty());
  EXPECT_EQ(value(queue_->stats()).waiting, 0u);
  EXPECT_EQ(value(queue_->reap(long_wait, 10)), 0u);
  EXPECT_EQ(value(queue_->reap(milliseconds(0), 10)), 1u);
  EXPECT_FALSE(value(queue_->find(id)));
}

TEST_P(OutboxQueue, ReapStaysWithinItsLimit) {
  for (int i = 0; i < 5; ++i) enqueue("x");
  for (const Claimed& each : claim()) record(each, Delivered{});
  enqueue("waits");
  EXPECT_EQ(value(queue_->reap(milliseconds(0), 3)), 3u);
  EXPECT_EQ(value(queue_->reap(milliseconds(0), 3)), 2u);
  EXPECT_EQ(value(queue_->reap(milliseconds(0), 3)), 0u);
  EXPECT_EQ(payloads(claim()), (Texts{"waits"}));
}

TEST_P(OutboxQueue, RetryComesWhenItIsTimeAndCountsTheAttempt) {
  const MessageId id = enqueue("a");
  EXPECT_TRUE(record(claim().at(0), RetryLater{"503", long_wait}));
  EXPECT_TRUE(claim().empty()) << "too early";
  EXPECT_EQ(entry(id).state, "waiting");
  EXPECT_EQ(entry(id).last_error, "503");
  const MessageId other = enqueue("b");
  EXPECT_TRUE(record(claim().at(0), RetryLater{"reset", milliseconds(0)}));
  const auto again = claim();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].id, other);
  EXPECT_EQ(again[0].attempt, 2u);
  EXPECT_FALSE(again[0].taken_over);
}

TEST_P(OutboxQueue, ClaimThatRanOutIsTakenOverAndItsHolderCanChangeNothing) {
  const MessageId id = enqueue("a");
  const Claimed first = claim(1, no_lease).at(0);
  const Claimed second = claim().at(0);
  EXPECT_EQ(second.id, id);
  EXPECT_EQ(second.attempt, 2u);
  EXPECT_TRUE(second.taken_over);
  EXPECT_NE(second.claim, first.claim);
  EXPECT_FALSE(record(first, Delivered{"late"}));
  EXPECT_EQ(value(queue_->extend({&id, 1}, first.claim, no_lease)), 0u);
  EXPECT_TRUE(claim().empty()) << "the first holder ended the second's lease";
  EXPECT_TRUE(record(second, Delivered{"in time"}));
  EXPECT_EQ(entry(id).provider_id, "in time");
  EXPECT_FALSE(record(second, Delivered{"again"}));
}

TEST_P(OutboxQueue, ClaimThatIsExtendedIsKept) {
  const MessageId id = enqueue("a");
  const Claimed first = claim(1, no_lease).at(0);
  EXPECT_EQ(value(queue_->extend({&id, 1}, first.claim, long_lease)), 1u);
  EXPECT_TRUE(claim().empty());
  EXPECT_TRUE(record(first, Delivered{}));
  EXPECT_EQ(value(queue_->extend({&id, 1}, first.claim, long_lease)), 0u) << "it is delivered";
}

TEST_P(OutboxQueue, ReleasedIsAsIfItHadNotBeenClaimed) {
  enqueue("a");
  EXPECT_TRUE(record(claim().at(0), Released{}));
  const Claimed again = claim().at(0);
  EXPECT_EQ(again.attempt, 1u);
  EXPECT_FALSE(again.taken_over);
  EXPECT_TRUE(record(again, Released{long_wait}));
  EXPECT_TRUE(claim().empty()) << "too early";
}

TEST_P(OutboxQueue, OutcomesOfOneCallAreRecordedTogether) {
  for (const char* payload : {"a", "b", "c"}) enqueue(payload);
  const auto claimed = claim();
  std::vector<Outcome> outcomes(3);
  for (std::size_t i = 0; i < 3; ++i) {
    outcomes[i].id = claimed.at(i).id;
    outcomes[i].claim = claimed.at(i).claim;
  }
  outcomes[0].what = Delivered{"1"};
  outcomes[1].claim += 1;
  outcomes[1].what = Delivered{"2"};
  outcomes[2].what = DeadLetter{"410"};
  EXPECT_EQ(value(queue_->record(outcomes)), (std::vector<MessageId>{claimed[1].id}));
  EXPECT_EQ(entry(claimed[0].id).state, "delivered");
  EXPECT_EQ(entry(claimed[1].id).state, "claimed");
  EXPECT_EQ(entry(claimed[2].id).state, "dead");
}

TEST_P(OutboxQueue, OneAggregateIsDeliveredInOrder) {
  for (const char* payload : {"1", "2", "3"}) enqueue(payload, "order 17");
  enqueue("other", "order 18");
  enqueue("free");
  const auto first = claim();
  EXPECT_EQ(payloads(first), (Texts{"1", "other", "free"}));
  EXPECT_TRUE(claim().empty());
  EXPECT_TRUE(record(first[0], RetryLater{"503", milliseconds(0)}));
  const auto again = claim();
  EXPECT_EQ(payloads(again), (Texts{"1"}));
  EXPECT_TRUE(record(again[0], Delivered{}));
  const auto second = claim();
  EXPECT_EQ(payloads(second), (Texts{"2"}));
  EXPECT_TRUE(record(second[0], Delivered{}));
  EXPECT_EQ(payloads(claim()), (Texts{"3"}));
}

TEST_P(OutboxQueue, AggregateWaitsBehindARetryThatIsNotDue) {
  enqueue("1", "order 17");
  enqueue("2", "order 17");
  EXPECT_TRUE(record(claim().at(0), RetryLater{"503", long_wait}));
  EXPECT_TRUE(claim().empty());
  enqueue("3", "order 17");
  EXPECT_TRUE(claim().empty());
}

TEST_P(OutboxQueue, PoisonHoldsUpItsAggregateAndNothingElse) {
  const MessageId poison = enqueue("poison", "order 17");
  enqueue("next", "order 17");
  EXPECT_TRUE(record(claim().at(0), DeadLetter{"400"}));
  enqueue("other", "order 18");
  enqueue("late", "order 17");
  EXPECT_EQ(payloads(claim()), (Texts{"other"}));
  EXPECT_EQ(entry(poison).last_error, "400");
  EXPECT_EQ(value(queue_->stats()).dead, 1u);
  EXPECT_EQ(value(queue_->stats()).waiting, 3u);
  EXPECT_EQ(value(queue_->discard({&poison, 1})), 1u);
  EXPECT_FALSE(value(queue_->find(poison)));
  EXPECT_EQ(payloads(claim()), (Texts{"next"}));
}

TEST_P(OutboxQueue, DeadLetterThatIsRetriedBeginsAnew) {
  const MessageId id = enqueue("a", "order 17");
  enqueue("b", "order 17");
  EXPECT_TRUE(record(claim().at(0), DeadLetter{"400"}));
  const MessageId ids[] = {id, id + 1, 999'999};
  EXPECT_EQ(value(queue_->retry(ids)), 1u) << "only what is dead";
  const auto again = claim();
  EXPECT_EQ(payloads(again), (Texts{"a"}));
  EXPECT_EQ(again.at(0).attempt, 1u);
  EXPECT_EQ(value(queue_->discard(ids)), 0u) << "only what is dead";
  EXPECT_TRUE(record(again[0], Delivered{}));
  EXPECT_EQ(payloads(claim()), (Texts{"b"}));
}

TEST_P(OutboxQueue, ListPagesAndFilters) {
  std::vector<MessageId> ids;
  for (const char* destination : {"hook", "kafka", "hook", "hook"}) {
    ids.push_back(enqueue("x", "", destination));
  }
  EXPECT_TRUE(record(claim(1).at(0), DeadLetter{"400"}));
  const auto listed = [&](Filter filter) {
    std::vector<MessageId> found;
    for (const Entry& each : value(queue_->list(filter))) found.push_back(each.id);
    return found;
  };
  using Ids = std::vector<MessageId>;
  Filter filter;
  EXPECT_EQ(listed(filter), ids);
  filter.limit = 2;
  EXPECT_EQ(listed(filter), (Ids{ids[0], ids[1]}));
  filter.after = ids[1];
  EXPECT_EQ(listed(filter), (Ids{ids[2], ids[3]}));
  filter = {};
  filter.destination = "hook";
  EXPECT_EQ(listed(filter), (Ids{ids[0], ids[2], ids[3]}));
  filter.state = "waiting";
  EXPECT_EQ(listed(filter), (Ids{ids[2], ids[3]}));
  filter = {};
  filter.state = "dead";
  EXPECT_EQ(listed(filter), (Ids{ids[0]}));
}

TEST_P(OutboxQueue, StatsTellHowLongTheOldestWaits) {
  EXPECT_EQ(value(queue_->stats()).oldest_age.count(), 0);
  enqueue("a");
  claim();
  const QueueStats stats = value(queue_->stats());
  EXPECT_EQ(stats.waiting, 1u) << "claimed is not delivered";
  EXPECT_GE(stats.oldest_age.count(), 0);
  EXPECT_LT(stats.oldest_age, long_wait);
}

TEST_P(OutboxQueue, WaitingEndsWithTheNextMessage) {
  const auto begun = std::chrono::steady_clock::now();
  std::jthread worker([&] {
    while (claim().empty()) queue_->wait(long_wait);
  });
  enqueue("a");
  worker.join();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, long_wait / 2);
}

TEST_P(OutboxQueue, WaitingEndsWhenARetryIsDueOrAClaimRunsOut) {
  const auto begun = std::chrono::steady_clock::now();
  enqueue("a");
  EXPECT_TRUE(record(claim().at(0), RetryLater{"503", milliseconds(30)}));
  std::vector<Claimed> claimed = claim(1, milliseconds(30));
  while (claimed.empty()) {
    queue_->wait(long_wait);
    claimed = claim(1, milliseconds(30));
  }
  EXPECT_EQ(claimed[0].attempt, 2u);
  for (claimed = claim(); claimed.empty(); claimed = claim()) queue_->wait(long_wait);
  EXPECT_TRUE(claimed[0].taken_over);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, long_wait / 2);
}

TEST_P(OutboxQueue, WhatBecameDueSinceTheLastLookIsNotWaitedFor) {
  constexpr milliseconds delay(1'000);
  // A worker that has found nothing twice sleeps; its time passes after that, while nobody looks.
  const auto sleep_past_it = [&] {
    EXPECT_TRUE(claim().empty());
    queue_->wait(milliseconds(0));
    EXPECT_TRUE(claim().empty());
    test::let_time_pass(2 * delay);  // time is the point: it is due now, and nobody has looked
  };
  for (const std::string aggregate : {"", "order 17"}) {
    const auto begun = std::chrono::steady_clock::now();
    enqueue("a", aggregate);
    EXPECT_TRUE(record(claim().at(0), RetryLater{"503", delay}));
    sleep_past_it();
    std::vector<Claimed> claimed;
    while (claimed.empty()) {
      queue_->wait(long_wait);
      claimed = claim(1, delay);
    }
    EXPECT_TRUE(record(claimed[0], Delivered{}));
    EXPECT_LT(std::chrono::steady_clock::now() - begun, long_wait / 2) << aggregate;
  }

  const auto begun = std::chrono::steady_clock::now();
  enqueue("b");
  EXPECT_EQ(claim(1, delay).size(), 1u);
  sleep_past_it();
  do queue_->wait(long_wait);
  while (claim().empty());
  EXPECT_LT(std::chrono::steady_clock::now() - begun, long_wait / 2);
}

TEST_P(OutboxQueue, WaitingEndsWhenTheNextOfAnAggregateIsFree) {
  const auto begun = std::chrono::steady_clock::now();
  enqueue("1", "order 17");
  enqueue("2", "order 17");
  EXPECT_TRUE(record(claim().at(0), Delivered{}));
  queue_->wait(long_wait);
  EXPECT_EQ(payloads(claim()), (Texts{"2"}));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, long_wait / 2);
}

TEST_P(OutboxQueue, WakeEndsAWaitAlsoWhenItComesFirst) {
  const auto begun = std::chrono::steady_clock::now();
  queue_->wake();
  queue_->wait(long_wait);
  std::jthread waker([&] { queue_->wake(); });
  queue_->wait(long_wait);
  EXPECT_LT(std::chrono::steady_clock::now() - begun, long_wait / 2);
}

}  // namespace
}  // namespace oncekey::outbox
