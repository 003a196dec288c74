// Random sequences of operations, given to the SQL functions and to the engine in memory, have the
// same outcomes and leave the same records. The functions of operators and of background roles take
// part, as they meet the same records.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>

#include "boundary/timeline.h"
#include "contract/contract.h"
#include "contract/sql_session.h"
#include "store/memory.h"

namespace oncekey::store {
namespace {

constexpr int operations_max = 40;

struct Hold {
  std::string sql_fence;
  Fence memory_fence = 0;
};

class Pair {
 public:
  Pair(SqlSession& sql, PostgresClock& clock, std::string prefix, TimestampMs now)
      : sql_(sql), clock_(clock), prefix_(std::move(prefix)), now_(now) {
    clock_.set(now_);
  }

  void step(int kind, int key_number, int choice) {
    const std::string key = prefix_ + std::to_string(key_number);
    switch (kind) {
      case 0:
      case 1:
      case 2:
        reserve(key, choice);
        break;
      case 3:
        settle(key, choice, ", 201, '{\"content-type\": \"text/plain\"}', 'ok'", "complete",
               completed());
        break;
      case 4:
        settle(key, choice, ", 'refused'", "fail", SettleFailed{"refused"});
        break;
      case 5:
        settle(key, choice, ", 'cut', '700 ms'", "mark_unknown", SettleUnknown{"cut", 700});
        break;
      case 6:
        heartbeat(key, choice);
        break;
      case 7:
        clock_.set(now_ += std::map<int, int>{{0, 1}, {1, 499}, {2, 1'000}, {3, 60'000}}[choice]);
        break;
      case 8:
        sweep();
        break;
      case 9:
        reap();
        break;
      case 10:
        resolve(key, choice);
        break;
      case 11:
        evict(key, choice);
        break;
    }
    for (int i = 0; i < 2; ++i) {
      compare_records(prefix_ + std::to_string(i));
      compare_timelines(prefix_ + std::to_string(i));
    }
  }

  TimestampMs now() const { return now_; }

 private:
  static SettleCompleted completed() {
    auto response = std::make_shared<StoredResponse>();
    response->status = 201;
    response->headers = {{"content-type", "text/plain"}};
    response->body = "ok";
    return {.response = std::move(response)};
  }

  template <class Op>
  auto apply(Op op) {
    return apply_to(memory_, std::move(op), now_);
  }

  // The newest hold, an older one, or none that ever was.
  Hold hold(const std::string& key, int choice) {
    const std::vector<Hold>& holds = holds_[key];
    if (choice == 3 || holds.empty()) return {"77", 1'000'000};
    return choice == 2 ? holds.front() : holds.back();
  }

  void reserve(const std::string& key, int choice) {
    const int seed = choice == 3 ? 2 : 1;
    const bool tombstone = choice == 1;
    Reserve op = reserve_of(key, static_cast<std::uint8_t>(seed));
    op.lease_ms = 500;
    op.retention_ms = 30'000;
    op.tombstone_ms = tombstone ? 60'000 : 0;
    const auto outcome = apply(op);
    const SqlRow row =
        sql_.reserve(key, seed,
                     std::string(", lease => '500 ms', retention => '30 s', method => 'POST',"
                                 " path => '/payments', owner => 'node 1, run 1', tombstone => '") +
                         (tombstone ? "60 s'" : "0'"));
    const std::string decision = row["decision"];
    RC_ASSERT(decision == name_of(outcome));
    if (const auto* execute = std::get_if<Execute>(&outcome)) {
      RC_ASSERT(row["attempt"] == std::to_string(execute->attempt));
      holds_[key].push_back({row["fence"], execute->fence});
    }
    if (const auto* replay = std::get_if<Replay>(&outcome)) {
      RC_ASSERT(row["attempt"] == std::to_string(replay->attempt));
      RC_ASSERT(row["response_body"] == (replay->response ? "\\x6f6b" : ""));
    }
  }

  static std::string name_of(const ReserveOutcome& outcome) {
    static const char* const names[] = {"unavailable", "execute", "replay", "in_flight",
                                        "mismatch",    "unknown", "expired"};
    return names[outcome.index()];
  }

  void settle(const std::string& key, int choice, const std::string& arguments,
              const std::string& function, const Verdict& verdict) {
    const Hold held = hold(key, choice);
    const auto outcome = apply(settle_of(key, held.memory_fence, verdict));
    const bool settled = sql_.settle(function, key, held.sql_fence, arguments);
    RC_ASSERT(settled == std::holds_alternative<Settled>(outcome));
  }

  void heartbeat(const std::string& key, int choice) {
    const Hold held = hold(key, choice);
    Heartbeat op;
    op.id = {"tenant", key};
    op.fence = held.memory_fence;
    op.lease_ms = 500;
    const bool extended = sql_.settle("heartbeat", key, held.sql_fence, ", '500 ms'");
    RC_ASSERT(extended == std::holds_alternative<Settled>(apply(op)));
  }

  void sweep() {
    const auto outcome = apply(Sweep{});
    const auto& swept = std::get<std::vector<RecordId>>(outcome);
    RC_ASSERT(sql_.query("SELECT count(*) FROM oncekey.sweep_batch(1000)") ==
              std::to_string(swept.size()));
  }

  void reap() {
    apply(Reap{});
    sql_.query("SELECT oncekey.reap_batch(1000)");
  }

  void resolve(const std::string& key, int choice) {
    const bool executed = choice < 2;
    Resolve op;
    op.id = {"tenant", key};
    if (executed) {
      op.verdict = completed();
      op.by = "alice";
      op.reason = "seen";
    } else {
      op.verdict = SettleFailed{"not executed"};
    }
    const std::string done = sql_.query(
        "SELECT done FROM oncekey.resolve_one(" + SqlSession::id(key) + ", oncekey.new_fence(), " +
        (executed ? "'completed', '', 0, 201, 1::smallint, 0::smallint,"
                    " '{content-type,text/plain}', 'ok', 'alice', 'seen')"
                  : "'failed_retryable', 'not executed', 0, NULL, NULL, NULL, NULL, NULL)"));
    RC_ASSERT((done == "t") == std::holds_alternative<Settled>(apply(op)));
  }

  void evict(const std::string& key, int choice) {
    const bool even_unknown = choice < 2;
    Evict op;
    op.id = {"tenant", key};
    op.even_unknown = even_unknown;
    const std::string done = sql_.query("SELECT oncekey.evict(" + SqlSession::id(key) + ", " +
                                        (even_unknown ? "true)" : "false)"));
    RC_ASSERT((done == "t") == std::holds_alternative<Evicted>(apply(op)));
  }

  void compare_timelines(const std::string& key) {
    Get get;
    get.id = {"tenant", key};
    const auto outcome = apply(get);
    const auto& record = std::get<std::optional<Record>>(outcome);
    std::string expected;
    if (record) {
      for (const Transition& past : timeline(*record)) {
        if (!expected.empty()) expected += "; ";
        expected += std::to_string(past.dropped) + "|" + std::to_string(past.at) + "|" +
                    std::string(to_string(past.state)) + "|" + std::to_string(past.attempt) + "|" +
                    past.by + "|" + past.reason;
      }
    }
    const std::string found = sql_.query(
        "SELECT coalesce(string_agg(concat_ws('|', dropped,"
        " floor(extract(epoch FROM at) * 1000)::bigint, state, attempt, by_whom, reason), '; '), "
        "'')"
        " FROM oncekey.timeline(" +
        SqlSession::id(key) + ")");
    RC_ASSERT(found == expected);
  }

  static std::string time_of(TimestampMs moment) {
    return moment == 0 ? "" : std::to_string(moment);
  }

  void compare_records(const std::string& key) {
    Get get;
    get.id = {"tenant", key};
    const auto outcome = apply(get);
    const auto& record = std::get<std::optional<Record>>(outcome);
    const std::string ms = "floor(extract(epoch FROM ";
    const std::string found =
        sql_.query("SELECT concat_ws('|', state, attempt, method, path, owner, last_error," + ms +
                   "created_at) * 1000)::bigint, coalesce(" + ms +
                   "locked_until) * 1000)::bigint::text, ''), coalesce(" + ms +
                   "reconcile_after) * 1000)::bigint::text, ''), coalesce(" + ms +
                   "completed_at) * 1000)::bigint::text, ''), coalesce(" + ms +
                   "expires_at) * 1000)::bigint::text, ''), coalesce(response_status::text, ''))"
                   " FROM oncekey.lookup(" +
                   SqlSession::id(key) + ")");
    std::string expected;
    if (record) {
      expected = std::string(to_string(record->state)) + "|" + std::to_string(record->attempt) +
                 "|" + record->method + "|" + record->path + "|" + record->owner + "|" +
                 record->last_error + "|" + time_of(record->created_at) + "|" +
                 time_of(record->locked_until) + "|" + time_of(record->reconcile_after) + "|" +
                 time_of(record->completed_at) + "|" + time_of(record->expires_at) + "|" +
                 (record->response ? "201" : "");
    }
    RC_ASSERT(found == expected);
  }

  SqlSession& sql_;
  PostgresClock& clock_;
  MemoryEngine memory_;
  std::string prefix_;
  TimestampMs now_;
  std::map<std::string, std::vector<Hold>> holds_;
};

TEST(SqlDifferentialTest, FunctionsAndStateMachineAgree) {
  const std::string url = fresh_clocked_database();
  SqlSession sql(url);
  PostgresClock clock(url);
  sql.query("SET synchronous_commit = off");
  int sequence = 0;
  TimestampMs now = 1'700'000'000'000;
  EXPECT_TRUE(rc::check([&] {
    sql.query("TRUNCATE oncekey.records");
    Pair pair(sql, clock, std::to_string(++sequence) + "-", now += 1'000'000);
    // inRange() narrows with the size, which here is to limit the length alone.
    const auto step = rc::gen::resize(
        rc::kNominalSize,
        rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(0, 2), rc::gen::inRange(0, 4)));
    const auto steps = *rc::gen::resize(
        operations_max, rc::gen::container<std::vector<std::tuple<int, int, int>>>(step));
    for (const auto& [kind, key, choice] : steps) pair.step(kind, key, choice);
    now = pair.now();
  }));
}

}  // namespace
}  // namespace oncekey::store
