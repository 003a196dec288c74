#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "oncekey/crash_point.h"
#include "oncekey/derived_key.h"
#include "oncekey/group.h"
#include "workflow/custody.h"
#include "workflow/grouped_transaction.h"
#include "workflow/stored_json.h"

namespace oncekey {
namespace {

// So many are not made to wait for the group that is under way.
constexpr std::size_t crowd = 24;
// Nor is anybody made to wait longer than this for it while a connection is free: it may hang. Most
// commits take less, and are worth waiting for.
constexpr std::chrono::milliseconds patience{50};

// The group cannot do it; each request is run by itself.
struct Unusual {};

const Phase& only_phase(const Workflow& workflow) {
  const bool fits = workflow.phases().size() == 1 && !workflow.phases()[0].call;
  if (fits) return workflow.phases()[0];
  throw Misuse("workflow \"" + workflow.name() +
               "\": a group takes one phase without a call; other workflows have a Runner");
}

}  // namespace

struct GroupRunner::Member {
  Member(GroupMember member, const RunnerOptions& options)
      : database(member.database), runner(member.database, member.workflow, options) {
    only_phase(member.workflow);
    workflow = std::make_unique<Workflow>(std::move(member.workflow));
  }

  Database& database;
  Runner runner;
  std::unique_ptr<Workflow> workflow;
};

// A caller's request. He waits until it is done, or until it is his turn to lead a group. `taken`
// and `leads` belong to the Shared's mutex, the last three to the waiter's own.
struct GroupRunner::Waiter {
  const RunRequest* request;
  std::optional<RunOutcome> outcome;
  std::exception_ptr error;
  bool taken = false;  // into somebody's group, which alone runs it
  bool leads = false;  // has a connection; a second one would lie idle while the first is at work

  std::mutex mutex;
  std::condition_variable changed;
  Member* leads_with = nullptr;
  bool done = false;
};

struct GroupRunner::Shared {
  RunnerOptions options;
  std::vector<std::unique_ptr<Member>> members;
  std::mutex mutex;  // comes before a waiter's
  std::vector<Member*> free;
  std::deque<std::shared_ptr<Waiter>> waiting;
  std::set<RecordId> under_way;  // a second request with such a key waits for the first one's end

  using Group = std::vector<std::shared_ptr<Waiter>>;
  Member* enter(const std::shared_ptr<Waiter>& waiter);
  Member* lose_patience(Waiter& waiter);
  Member* take_free(Waiter& leader);
  Group take_group();
  void lead(Member& member, Waiter& leader);
  void hand_over(Member& member, Waiter& leader, const Group& group);
  void run_together(Member& member, const Group& group);
  void run_alone(Member& member, Waiter& waiter);
};

GroupRunner::GroupRunner(std::vector<GroupMember> members, RunnerOptions options)
    : shared_(std::make_unique<Shared>()) {
  if (members.empty()) throw Misuse("a group needs at least one connection");
  shared_->options = std::move(options);
  for (GroupMember& member : members) {
    shared_->members.push_back(std::make_unique<Member>(std::move(member), shared_->options));
    shared_->free.push_back(shared_->members.back().get());
  }
}

GroupRunner::~GroupRunner() = default;

RunOutcome GroupRunner::run(const RunRequest& request) {
  const auto input = workflow::canonical_value(request.input);
  if (!input) throw Misuse("the input is not JSON, or has a name twice");
  RunRequest canonical = request;
  canonical.input = *input;

  const auto waiter = std::make_shared<Waiter>();
  waiter->request = &canonical;
  Member* member = shared_->enter(waiter);
  for (;;) {
    if (member != nullptr) shared_->lead(*member, *waiter);
    std::unique_lock lock(waiter->mutex);
    const bool told = waiter->changed.wait_for(
        lock, patience, [&] { return waiter->done || waiter->leads_with != nullptr; });
    member = std::exchange(waiter->leads_with, nullptr);
    if (told && member == nullptr) break;  // done, and nobody left a connection to it
    lock.unlock();                         // the Shared's mutex comes first
    if (!told) member = shared_->lose_patience(*waiter);
  }
  if (waiter->error) std::rethrow_exception(waiter->error);
  return std::move(*waiter->outcome);
}

// A connection to lead with, if it is worth starting. A second group beside one that is under way
// is worth its commit only when many wait.
GroupRunner::Member* GroupRunner::Shared::enter(const std::shared_ptr<Waiter>& waiter) {
  const std::lock_guard lock(mutex);
  waiting.push_back(waiter);
  const bool others_busy = free.size() < members.size();
  if (others_busy && waiting.size() < crowd) return nullptr;
  return take_free(*waiter);
}

// A connection to lead with, for somebody who has waited long. He may have been served, or given
// one, before he comes to say so.
GroupRunner::Member* GroupRunner::Shared::lose_patience(Waiter& waiter) {
  const std::lock_guard lock(mutex);
  if (waiter.taken || waiter.leads || under_way.contains(waiter.request->id)) return nullptr;
  return take_free(waiter);
}

// Needs the mutex.
GroupRunner::Member* GroupRunner::Shared::take_free(Waiter& leader) {
  if (free.empty()) return nullptr;
  leader.leads = true;
  Member* const member = free.back();
  free.pop_back();
  return member;
}

// In order of arrival. Two requests with one key do not meet in one transaction, nor in two: the
// second would wait for the first, and its group with it.
GroupRunner::Shared::Group GroupRunner::Shared::take_group() {
  const std::lock_guard lock(mutex);
  Group group;
  std::deque<std::shared_ptr<Waiter>> rest;
  for (std::shared_ptr<Waiter>& waiter : waiting) {
    const bool fits = group.size() < group_max && under_way.insert(waiter->request->id).second;
    if (fits) {
      waiter->taken = true;
      group.push_back(std::move(waiter));
    } else {
      rest.push_back(std::move(waiter));
    }
  }
  waiting = std::move(rest);
  return group;
}

void GroupRunner::Shared::lead(Member& member, Waiter& leader) {
  const Group group = take_group();
  if (group.size() == 1) {
    run_alone(member, *group.front());
  } else if (!group.empty()) {
    run_together(member, group);
  }
  hand_over(member, leader, group);
  for (const auto& waiter : group) {
    const std::lock_guard lock(waiter->mutex);
    waiter->done = true;
    waiter->changed.notify_one();
  }
}

// To whoever waits longest. He may be in another group by then, and leads all the same.
void GroupRunner::Shared::hand_over(Member& member, Waiter& leader, const Group& group) {
  const std::lock_guard lock(mutex);
  leader.leads = false;
  for (const auto& waiter : group) under_way.erase(waiter->request->id);
  for (const auto& waiter : waiting) {
    if (waiter->leads || under_way.contains(waiter->request->id)) continue;
    waiter->leads = true;
    const std::lock_guard own(waiter->mutex);
    waiter->leads_with = &member;
    waiter->changed.notify_one();
    return;
  }
  free.push_back(&member);
}

void GroupRunner::Shared::run_alone(Member& member, Waiter& waiter) {
  try {
    waiter.outcome = member.runner.run(*waiter.request);
  } catch (...) {
    waiter.error = std::current_exception();
  }
}

void GroupRunner::Shared::run_together(Member& member, const Group& group) {
  const Phase& phase = member.workflow->phases()[0];
  std::vector<Waiter*> others;  // decided before: not this group's business
  try {
    member.database.begin();
    workflow::GroupedTransaction transaction(member.database.transaction());
    std::vector<Reserve> reserves;
    for (const auto& waiter : group) {
      reserves.push_back(workflow::reservation_of(*waiter->request, options));
    }
    const auto reserved = member.database.transaction().reserve_all(reserves);
    crash_point(CrashPoint::workflow_reserved);
    std::vector<Settle> settles;
    std::vector<Waiter*> executed;
    for (std::size_t i = 0; i < group.size(); ++i) {
      if (const auto* replay = std::get_if<Replay>(&reserved[i])) {
        group[i]->outcome = Done{replay->response, true, replay->attempt, replay->expires_at};
        continue;
      }
      const auto* execute = std::get_if<Execute>(&reserved[i]);
      if (execute == nullptr) {
        others.push_back(group[i].get());
        continue;
      }
      if (execute->attempt != 1) throw Unusual{};
      const RunRequest& request = *group[i]->request;
      const std::string key = derive_key(request.id, phase.name);
      const std::string no_data = workflow::stored_json("");
      const PhaseEnd end =
          phase.body({transaction, request.id, key, request.input, no_data, "", 1});
      const auto* finish = std::get_if<Finish>(&end);
      const bool fits = finish != nullptr && finish->response.status >= 200 &&
                        finish->response.status <= 599 && member.database.in_transaction();
      if (!fits) throw Unusual{};
      crash_point(CrashPoint::workflow_in_body);
      const auto response = std::make_shared<const StoredResponse>(finish->response);
      settles.push_back({request.id, execute->fence, SettleCompleted{response}, {}});
      executed.push_back(group[i].get());
    }
    transaction.flush();
    const auto settled = member.database.transaction().settle_all(settles);
    for (std::size_t i = 0; i < executed.size(); ++i) {
      const auto* done = std::get_if<Settled>(&settled[i]);
      if (done == nullptr) throw Unusual{};
      const auto& completed = std::get<SettleCompleted>(settles[i].verdict);
      executed[i]->outcome = Done{completed.response, false, 1, done->expires_at};
    }
    crash_point(CrashPoint::workflow_before_commit);
    member.database.commit();
    crash_point(CrashPoint::workflow_committed);
  } catch (...) {
    // Whatever it was, each request meets it by itself. A commit in doubt is settled by the keys: a
    // reservation waits for the transaction that may still be under way, and then finds its record.
    member.database.rollback();
    for (const auto& waiter : group) {
      waiter->outcome.reset();
      run_alone(member, *waiter);
    }
    return;
  }
  for (Waiter* const waiter : others) run_alone(member, *waiter);
  crash_point(CrashPoint::workflow_before_answer);
}

}  // namespace oncekey
