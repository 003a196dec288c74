// Carries bytes both ways between two sockets after an upgrade or CONNECT.
#pragma once

#include "http/byte_buffer.h"
#include "http/stream.h"
#include "http/task.h"

namespace oncekey::gateway {

// What either side had sent ahead is in its buffer. Ends when both have closed, or one has been
// silent for too long.
http::Task<void> run_tunnel(http::Stream& client, http::ByteBuffer& client_input,
                            http::Stream& upstream, http::ByteBuffer& upstream_input,
                            http::SteadyMs idle_ms);

}  // namespace oncekey::gateway
