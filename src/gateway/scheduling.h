// How the threads that serve connections ask to be scheduled.
#pragma once

namespace oncekey::gateway {

// The calling thread waits for its turn instead of interrupting whoever runs: what arrives
// meanwhile is served together. See docs/decisions/0007-taking-turns.md.
void take_turns();

}  // namespace oncekey::gateway
