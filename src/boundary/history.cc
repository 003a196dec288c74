#include "boundary/history.h"

#include <algorithm>
#include <utility>

namespace oncekey {
namespace {

// dropped, at, state, attempt, the texts' sizes; little-endian.
constexpr std::size_t sizes[] = {4, 6, 1, 4, 2, 2};
constexpr std::size_t head_size = 19;

// Not within a character.
std::string cut(std::string_view text) {
  std::size_t size = std::min(text.size(), Transition::text_bytes_max);
  const auto continues = [&](std::size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  if (size < text.size()) {
    while (size > 0 && continues(size)) --size;
  }
  return std::string(text.substr(0, size));
}

void append_number(std::string& out, std::uint64_t number, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i, number >>= 8) out.push_back(static_cast<char>(number));
}

std::uint64_t read_number(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

bool is_state(std::uint64_t number) {
  return number >= static_cast<std::uint64_t>(State::in_progress) &&
         number <= static_cast<std::uint64_t>(State::expired);
}

}  // namespace

std::vector<Transition> history_before(const Record& record) {
  if (!record.history.empty()) return record.history;
  Transition first;
  first.at = record.created_at;
  first.attempt = 1;
  // An earlier build kept no history, and only the latest owner.
  if (record.attempt == 1) first.by = cut(record.owner);
  return {std::move(first)};
}

void note(Record& record, TimestampMs at, std::string_view by, std::string_view reason) {
  std::vector<Transition>& history = record.history;
  if (history.size() >= Transition::kept_max) {
    history[2].dropped += 1 + history[1].dropped;
    history.erase(history.begin() + 1);
  }
  history.push_back({at, record.state, record.attempt, cut(by), cut(reason), 0});
}

void forget_reserve(Record& record) {
  if (record.history.empty()) return;
  const Transition& last = record.history.back();
  if (last.state == State::in_progress && last.attempt == record.attempt) {
    record.history.pop_back();
  }
}

std::string encode_history(const std::vector<Transition>& history) {
  std::string bytes;
  for (const Transition& entry : history) {
    const std::uint64_t numbers[] = {entry.dropped,
                                     static_cast<std::uint64_t>(entry.at),
                                     static_cast<std::uint64_t>(entry.state),
                                     entry.attempt,
                                     entry.by.size(),
                                     entry.reason.size()};
    for (std::size_t i = 0; i < std::size(sizes); ++i) append_number(bytes, numbers[i], sizes[i]);
    bytes += entry.by;
    bytes += entry.reason;
  }
  return bytes;
}

std::optional<std::vector<Transition>> decode_history(std::string_view bytes) {
  std::vector<Transition> history;
  while (!bytes.empty()) {
    if (bytes.size() < head_size) return {};
    std::uint64_t numbers[std::size(sizes)];
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      numbers[i] = read_number(bytes.substr(0, sizes[i]));
      bytes.remove_prefix(sizes[i]);
    }
    const auto [dropped, at, state, attempt, by, reason] = numbers;
    if (!is_state(state) || by + reason > bytes.size()) return {};
    history.push_back({static_cast<TimestampMs>(at), static_cast<State>(state),
                       static_cast<std::uint32_t>(attempt), std::string(bytes.substr(0, by)),
                       std::string(bytes.substr(by, reason)), static_cast<std::uint32_t>(dropped)});
    bytes.remove_prefix(by + reason);
  }
  return history;
}

}  // namespace oncekey
