#include "transaction/arguments.h"

#include <algorithm>
#include <string>

#include "oncekey/transaction.h"

namespace oncekey::transaction {
namespace {

void check_size(std::string_view what, std::size_t size, std::size_t most) {
  if (size <= most) return;
  throw Misuse(std::string(what) + " has " + std::to_string(size) + " bytes; at most " +
               std::to_string(most) + " are allowed");
}

void check_at_most(std::string_view what, DurationMs value, DurationMs most,
                   std::string_view in_words) {
  if (value <= most) return;
  throw Misuse(std::string(what) + " is " + std::to_string(value) + " ms; at most " +
               std::to_string(most) + " ms (" + std::string(in_words) +
               ") are allowed, so give a shorter one");
}

void check_not_negative(std::string_view what, DurationMs value) {
  if (value < 0) throw Misuse(std::string(what) + " is negative");
}

bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

// A line break in a header would let a payload write headers of its own.
void check_header(const Header& header) {
  if (header.name.empty()) throw Misuse("a header of the message has no name");
  const auto breaks = [](const std::string& text) {
    return std::any_of(text.begin(), text.end(), is_control);
  };
  if (breaks(header.name) || header.name.find_first_of(": ") != std::string::npos) {
    throw Misuse("a header of the message has a name that is none");
  }
  if (breaks(header.value)) {
    throw Misuse("the message's header " + header.name + " has a control character in its value");
  }
  check_size("the message's header " + header.name, header.name.size() + header.value.size(),
             header_bytes_max);
}

}  // namespace

void check_lease(DurationMs lease_ms) {
  if (lease_ms <= 0) throw Misuse("the lease must be longer than 0 ms");
  check_at_most("the lease", lease_ms, lease_ms_max, "1 day");
}

void check_name(std::string_view what, std::string_view name) {
  if (name.empty()) throw Misuse(std::string(what) + " is empty");
  check_size(what, name.size(), name_bytes_max);
}

void check_reserve(const Reserve& reserve) {
  check_lease(reserve.lease_ms);
  check_not_negative("the retention", reserve.retention_ms);
  check_at_most("the retention", reserve.retention_ms, retention_ms_max, "3650 days");
  check_not_negative("the tombstone's time", reserve.tombstone_ms);
  check_at_most("the tombstone's time", reserve.tombstone_ms, retention_ms_max, "3650 days");
}

void check_message(const Message& message) {
  check_name("the message's destination", message.destination);
  check_size("the message's key", message.message_key.size(), name_bytes_max);
  check_size("the message's aggregate", message.aggregate.size(), name_bytes_max);
  check_size("the message's payload", message.payload.size(), payload_bytes_max);
  if (message.headers.size() > headers_max) {
    throw Misuse("the message has more than " + std::to_string(headers_max) + " headers");
  }
  for (const Header& header : message.headers) check_header(header);
}

}  // namespace oncekey::transaction
