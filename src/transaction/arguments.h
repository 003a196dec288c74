// What the library is given is checked before a database sees it. Each throws Misuse with the name
// of what is wrong.
#pragma once

#include <cstddef>
#include <string_view>

#include "oncekey/outbox.h"
#include "oncekey/store.h"

namespace oncekey::transaction {

inline constexpr std::size_t name_bytes_max = 255;  // destinations, keys, workflows, consumers …
inline constexpr std::size_t payload_bytes_max = 16 << 20;
inline constexpr std::size_t headers_max = 64;
inline constexpr std::size_t header_bytes_max = 8 << 10;  // of one, name and value

void check_reserve(const Reserve& reserve);
void check_lease(DurationMs lease_ms);
// Neither empty nor too long. `what` is "the workflow's name".
void check_name(std::string_view what, std::string_view name);
void check_message(const Message& message);

}  // namespace oncekey::transaction
