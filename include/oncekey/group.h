// Many requests in one commit. A service under load spends most of a small transaction on its
// commit and on round trips; requests that come at the same time can share them.
//
//   oncekey::GroupRunner payments({{*database1, payment1}, {*database2, payment2}});
//   auto outcome = payments.run(request);      // from any thread
//
// The workflow has one phase without a call: key, business rows, messages and answer are one
// transaction anyway. Callers who wait while a transaction is under way make up the next one; each
// of their bodies runs in it, one after the other. If anything about it is unusual (a body that
// throws or does not finish, a key that is known, a deadlock, a lost connection) the whole group is
// rolled back or its outcome established, and every request is run by itself, as a Runner does. So
// what a caller gets is the same as without a group, and a body may run twice, of which one is
// rolled back.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "oncekey/transaction.h"
#include "oncekey/workflow.h"

namespace oncekey {

// Each member is a connection of its own, with the workflow whose body works on that connection.
struct GroupMember {
  Database& database;
  Workflow workflow;
};

class GroupRunner {
 public:
  static constexpr std::size_t group_max = 64;  // requests in one transaction

  // Misuse: no member, or a workflow that is not one phase without a call. Two or three members are
  // enough: while one commits, another one executes. One that hangs keeps only its own group
  // waiting as long as another is free.
  explicit GroupRunner(std::vector<GroupMember> members, RunnerOptions options = {});
  ~GroupRunner();
  GroupRunner(const GroupRunner&) = delete;
  GroupRunner& operator=(const GroupRunner&) = delete;

  // From any thread; throws as Runner::run() does. In a group, enqueue() returns 0: the message
  // gets its number when all bodies are done.
  RunOutcome run(const RunRequest& request);

 private:
  struct Member;
  struct Waiter;
  struct Shared;

  std::unique_ptr<Shared> shared_;
};

}  // namespace oncekey
