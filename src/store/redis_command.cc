#include "store/redis_command.h"

#include <array>
#include <charconv>

namespace oncekey::store {
namespace {

// CRC-16/XMODEM, which Redis spreads its keys by.
constexpr std::array<std::uint16_t, 256> crc_table = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned byte = 0; byte < table.size(); ++byte) {
    unsigned crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? crc << 1 ^ 0x1021 : crc << 1;
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

}  // namespace

void append_word(std::string& out, std::string_view word, std::string_view rest) {
  char digits[20];
  const auto written =
      std::to_chars(std::begin(digits), std::end(digits), word.size() + rest.size());
  out += '$';
  out.append(digits, written.ptr).append("\r\n").append(word).append(rest).append("\r\n");
}

void append_command(std::string& out, std::initializer_list<std::string_view> words) {
  out += '*';
  out += std::to_string(words.size());
  out += "\r\n";
  for (const std::string_view word : words) append_word(out, word);
}

void write_redis_stamp(char* at, TimestampMs time, bool is_text) {
  auto rest = static_cast<std::uint64_t>(time);
  if (is_text) {
    for (std::size_t i = redis_stamp_digits; i-- > 0; rest /= 10) {
      at[i] = static_cast<char>('0' + rest % 10);
    }
  } else {
    for (std::size_t i = 0; i < redis_time_size; ++i, rest >>= 8) at[i] = static_cast<char>(rest);
  }
}

int redis_slot_of(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open != key.npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  unsigned crc = 0;
  for (const char c : key) {
    crc = (crc << 8 ^ crc_table[(crc >> 8 ^ static_cast<unsigned char>(c)) & 0xff]) & 0xffff;
  }
  return static_cast<int>(crc % redis_slots);
}

}  // namespace oncekey::store
