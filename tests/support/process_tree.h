// A server that works in several processes: its children, and signals to all of them.
#pragma once

#include <sys/types.h>

#include <vector>

namespace oncekey::test {

std::vector<pid_t> children_of(pid_t parent);

bool is_stopped(pid_t pid);
bool runs(pid_t pid);  // false also for a process that ended and was not waited for

// The parent stops first, so that it cannot start a child that is missed; returns the children.
std::vector<pid_t> stop_tree(pid_t parent);

// SIGKILL to all; returns when none of the children runs. The parent is the caller's to wait for.
void kill_tree(pid_t parent);

}  // namespace oncekey::test
