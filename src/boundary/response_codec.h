// An upstream's answer to and from the form in which it is kept.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "oncekey/record.h"
#include "oncekey/result.h"

namespace oncekey {

// Below this, zstd's frame and the time are not worth the bytes.
inline constexpr std::size_t compress_size_min = 256;
// Compressed only when it saves at least this share, as every replay pays for unpacking.
inline constexpr std::size_t compress_saving_percent_min = 10;
// No stored answer unpacks to more than this, whatever its frame says.
inline constexpr std::size_t unpacked_size_max = std::size_t{1} << 30;

// Keeps the headers whose names are in `allowed` (lower case), in their order, except those that
// belong to one connection or one moment: no list can allow Set-Cookie, Date, Connection and the
// like, nor what the answer's own Connection header names.
StoredResponse pack_response(int status, std::span<const Header> headers, std::string_view body,
                             std::span<const std::string> allowed);

// May a replay ever repeat this header?
bool replayable_header(std::string_view name);

struct UnpackError {
  std::string reason;  // for operators
};

// The body, byte for byte as it was packed. Fails when this build does not know the schema, or the
// stored bytes are not what pack_response writes.
Result<std::string, UnpackError> unpack_body(const StoredResponse& response,
                                             std::size_t size_max = unpacked_size_max);

}  // namespace oncekey
