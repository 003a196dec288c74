// Waiting for a condition, and the rare case where time itself is what a test is about.
#pragma once

#include <functional>

#include "support/socket.h"

namespace oncekey::test {

// Looks again and again until the condition holds; false when it does not in time.
bool eventually(const std::function<bool()>& condition, Milliseconds timeout = patience);

// For a random moment or a pace, never to wait for something to have happened.
void let_time_pass(Milliseconds duration);

}  // namespace oncekey::test
