// Ports for servers that a test stops and starts again.
#pragma once

#include <cstdint>

namespace oncekey::test {

// A port, with its neighbour 10,000 above, that nothing listened on a moment ago and that no other
// test gets before this program ends. Both lie below the range from which the kernel takes ports
// for outgoing connections, so that the server finds its port free again when it comes back. (The
// neighbour is for the bus of a Redis Cluster.)
std::uint16_t server_port();

}  // namespace oncekey::test
