// Buffers that a thread keeps from request to request save allocations; one huge request must not
// leave them huge for ever.
#pragma once

#include <cstddef>

namespace oncekey {

inline constexpr std::size_t reused_buffer_bytes_max = std::size_t{1} << 20;

// Gives the memory of a string or vector back when it grew past what usual requests need.
template <class Buffer>
void release_if_large(Buffer& buffer) {
  if (buffer.capacity() * sizeof(typename Buffer::value_type) > reused_buffer_bytes_max) {
    Buffer().swap(buffer);
  }
}

}  // namespace oncekey
