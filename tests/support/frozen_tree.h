// A process and its children, stopped for as long as this object lives. When the test is killed
// meanwhile they go on too, so that they can end: a stopped process would stay for ever.
#pragma once

#include <sys/types.h>

#include "support/socket.h"

namespace oncekey::test {

class FrozenTree {
 public:
  explicit FrozenTree(pid_t parent);
  ~FrozenTree();
  FrozenTree(const FrozenTree&) = delete;
  FrozenTree& operator=(const FrozenTree&) = delete;

 private:
  Socket lifeline_;  // a pipe; its other end is held by the guard, which reads an end when we end
  pid_t guard_ = -1;
};

}  // namespace oncekey::test
