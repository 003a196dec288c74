// Every engine against the rules themselves: the same random operations on it and on the engine in
// memory, which does nothing but ask boundary/decide.h.
#include <algorithm>
#include <map>
#include <random>

#include "boundary/timeline.h"
#include "contract.h"
#include "store/memory.h"

namespace oncekey::store {
namespace {

constexpr int runs = 4;
constexpr int steps = 150;
constexpr int keys = 3;

std::vector<EngineUnderTest> other_engines() {
  auto engines = all_engines();
  std::erase_if(engines, [](const EngineUnderTest& engine) { return engine.name == "memory"; });
  return engines;
}

std::string shown(const std::shared_ptr<const StoredResponse>& response) {
  return response == nullptr ? "no answer" : response->body;
}

// An outcome without its fence, in which two engines may differ.
struct Shown {
  std::string operator()(const Unavailable& outcome) const { return "down: " + outcome.reason; }
  std::string operator()(const Execute& outcome) const {
    return "execute " + std::to_string(outcome.attempt) + " " +
           std::to_string(outcome.locked_until);
  }
  std::string operator()(const Replay& outcome) const {
    return "replay " + std::to_string(outcome.attempt) + " " + shown(outcome.response) + " " +
           std::to_string(outcome.completed_at) + " " + std::to_string(outcome.expires_at);
  }
  std::string operator()(const InFlight& outcome) const {
    return "in flight " + std::to_string(outcome.attempt) + " " +
           std::to_string(outcome.locked_until);
  }
  std::string operator()(const Mismatch& outcome) const {
    return "mismatch " + std::string(to_string(outcome.state));
  }
  std::string operator()(const OutcomeUnknown& outcome) const {
    return "unknown " + std::to_string(outcome.attempt) + " " +
           std::to_string(outcome.reconcile_after);
  }
  std::string operator()(const Expired& outcome) const {
    return "expired " + std::to_string(outcome.completed_at);
  }
  std::string operator()(const Settled& outcome) const {
    return "settled " + std::to_string(outcome.expires_at);
  }
  std::string operator()(const StaleFence& outcome) const {
    return "stale " + (outcome.state ? std::string(to_string(*outcome.state)) : "nothing");
  }
  std::string operator()(const Evicted& outcome) const {
    return "evicted " + (*this)(std::optional<Record>(outcome.before));
  }
  std::string operator()(const std::optional<Record>& record) const {
    if (!record) return "nothing";
    std::string text(to_string(record->state));
    for (const std::int64_t number :
         {std::int64_t{record->attempt}, record->created_at, record->locked_until,
          record->reconcile_after, record->completed_at, record->expires_at}) {
      text += " " + std::to_string(number);
    }
    // What is left of a tombstone's texts is up to the engine.
    if (record->state == State::expired) return text;
    for (const Transition& past : timeline(*record)) {
      text += " (" + std::to_string(past.dropped) + " " + std::to_string(past.at) + " " +
              std::string(to_string(past.state)) + " " + std::to_string(past.attempt) + " " +
              past.by + " " + past.reason + ")";
    }
    return text + " " + record->last_error + " " + record->owner + " " + shown(record->response);
  }
};

class Model : public ContractTest {
 protected:
  // The same operation on both; its fence is that of the key's last holder, or an older one.
  template <class Op>
  std::string both(Op op) {
    Op modelled = op;
    // An engine need not know the fence of a tombstone.
    const bool any_hold = std::is_same_v<Op, Evict> && (random(2) == 0 || !is_alive(op.id));
    if constexpr (requires { op.fence; }) {
      const auto& held = fences_[op.id.key];
      if (!held.empty() && !any_hold) {
        const std::size_t back = std::min<std::size_t>(held.size() - 1, random(4) == 0 ? 1 : 0);
        op.fence = held[held.size() - 1 - back].first;
        modelled.fence = held[held.size() - 1 - back].second;
      }
    }
    // Past its retention a repeated settle finds what the reaper has left, if it came by.
    const bool depends_on_the_reaper = std::is_same_v<Op, Settle> && !is_alive(op.id);
    const auto outcome = apply_to(*engine_, op, now_);
    const auto expected = apply_to(model_, modelled, now_);
    const std::string found = std::visit(Shown{}, outcome);
    if (!depends_on_the_reaper) {
      EXPECT_EQ(found, std::visit(Shown{}, expected));
    }
    if constexpr (std::is_same_v<Op, Reserve>) {
      const auto* held = std::get_if<Execute>(&outcome);
      const auto* held_by_model = std::get_if<Execute>(&expected);
      if (held != nullptr && held_by_model != nullptr) {
        fences_[op.id.key].emplace_back(held->fence, held_by_model->fence);
      }
    }
    return found;
  }

  bool is_alive(const RecordId& id) {
    Get op;
    op.id = id;
    const auto outcome = apply_to(model_, std::move(op), now_);
    const auto& record = std::get<std::optional<Record>>(outcome);
    return record && record->state != State::expired;
  }

  std::string step(const std::string& key) {
    switch (random(13)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        Reserve op = reserve_of(key, random(8) == 0 ? 2 : 1);
        op.owner = "owner " + std::to_string(random(3));
        if (random(2) == 0) op.tombstone_ms = tombstone_ms;
        return "reserve: " + both(std::move(op));
      }
      case 4:
      case 5:
      case 6:
        return "settle: " + both(settle_of(key, 1, verdict()));
      case 7:
        return "heartbeat: " +
               both(Heartbeat{.id = {"tenant", key}, .fence = 1, .lease_ms = lease_ms});
      case 8: {
        Resolve op;
        op.id = {"tenant", key};
        op.verdict = verdict();
        op.by = "operator " + std::to_string(random(2));
        if (random(2) == 0) op.reason = "reason " + std::to_string(random(3));
        return "resolve: " + both(std::move(op));
      }
      case 9: {
        auto swept = expect<std::vector<RecordId>>(apply(Sweep{}));
        auto expected = std::get<std::vector<RecordId>>(apply_to(model_, Sweep{}, now_));
        std::sort(swept.begin(), swept.end());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(swept, expected);
        return "sweep: " + std::to_string(swept.size());
      }
      case 10:
        expect<std::size_t>(apply(Reap{}));
        apply_to(model_, Reap{}, now_);
        return "reap";
      case 11: {
        Evict op;
        op.id = {"tenant", key};
        op.even_unknown = random(2) == 0;
        return "evict: " + both(std::move(op));
      }
      default: {
        const DurationMs times[] = {1, lease_ms / 2, lease_ms, retention_ms, tombstone_ms};
        const DurationMs time = times[random(5)];
        wait(time);
        return "wait " + std::to_string(time);
      }
    }
  }

  Verdict verdict() {
    switch (random(4)) {
      case 0:
        return SettleFailed{"refused " + std::to_string(random(3))};
      case 1:
        return SettleUnknown{"cut off", 500};
      case 2:
        return SettleCompleted{nullptr};
      default:
        return answered("answer " + std::to_string(random(100)));
    }
  }

  int random(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  MemoryEngine model_;
  std::map<std::string, std::vector<std::pair<Fence, Fence>>> fences_;
  std::mt19937 random_{std::random_device{}()};
};
INSTANTIATE_TEST_SUITE_P(Engines, Model, ::testing::ValuesIn(other_engines()), engine_name);

TEST_P(Model, RandomOperationsEndAsTheRulesSay) {
  for (int run = 0; run < runs && !HasFailure(); ++run) {
    const unsigned seed = random_();
    random_.seed(seed);
    std::string history = "seed " + std::to_string(seed) + "\n";
    for (int i = 0; i < steps && !HasFailure(); ++i) {
      const std::string key = "r" + std::to_string(run) + "-" + std::to_string(random(keys));
      history += key + " " + step(key) + "\n";
      Get look;
      look.id = {"tenant", key};
      history += "   now " + both(std::move(look)) + "\n";
    }
    if (HasFailure()) ADD_FAILURE() << history;
  }
}

}  // namespace
}  // namespace oncekey::store
