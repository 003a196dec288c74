// The connection a request came on. cpp-httplib keeps its socket to itself; a provider that breaks
// connections on purpose needs it.
#pragma once

#include <atomic>
#include <chrono>

namespace httplib {
struct Request;
}

namespace provider {

// The peer reads a reset; what the handler still answers goes nowhere.
void reset_connection(const httplib::Request& request);

// Says nothing until the peer has given up, `limit` is over or `stopping`; then resets.
void leave_unanswered(const httplib::Request& request, std::chrono::milliseconds limit,
                      const std::atomic<bool>& stopping);

}  // namespace provider
