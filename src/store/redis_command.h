// Commands as Redis reads them, and where in a cluster they belong.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "oncekey/record.h"
#include "store/redis_reply.h"
#include "store/redis_url.h"

namespace oncekey::store {

void append_word(std::string& out, std::string_view word, std::string_view rest = {});
void append_command(std::string& out, std::initializer_list<std::string_view> words);

// The slot of a key: of what is between its first { and the next }, if anything is.
inline constexpr int redis_slots = 16'384;
int redis_slot_of(std::string_view key);

struct RedisScript {
  std::string name;
  std::string text;
  std::string sha;
  int number = 0;  // below 64, its own in one engine
};

// A time that becomes known when its command is sent.
struct RedisStamp {
  std::size_t at = 0;    // in the command's words
  DurationMs later = 0;  // than the sending, by the server's clock
  bool is_text = false;  // redis_stamp_digits of them; otherwise as records have it
};
inline constexpr std::size_t redis_stamp_digits = 15;
inline constexpr std::size_t redis_time_size = 6;
void write_redis_stamp(char* at, TimestampMs time, bool is_text);

// A command on its way, and what came of it.
struct RedisCommand {
  // Where it goes: to the owner of a slot, or to one server of a cluster. A server alone owns all.
  int slot = 0;
  std::optional<RedisAddress> server;

  const RedisScript* script = nullptr;  // null: the words are the whole command
  std::string words;
  std::size_t word_count = 0;
  // With the script's text, which no server can refuse to know.
  bool with_text = false;
  // The last moment at which it may begin, by the server's clock, becomes one more argument.
  bool must_begin_in_time = false;
  // Only done when as many replicas have it as the URL says.
  bool must_be_replicated = false;
  // A counter in its slot, which may be written to without changing anything.
  std::string_view witness;
  std::string last_word;  // after that; may be empty
  // Times in its words. A script that has some answers with the server's time where all went well.
  std::vector<RedisStamp> stamps;
  std::optional<TimestampMs> stamp;  // in place of the server's clock

  void word(std::string_view text) {
    append_word(words, text);
    ++word_count;
  }
  void word(std::int64_t number) { word(std::to_string(number)); }

  // --- what came of it ---
  RedisReply reply;     // null: none
  std::string trouble;  // why there is none, or why the reply is an error
  // An answer was lost: it may have been done, or be done later, whatever a later try was answered.
  bool in_doubt = false;
  TimestampMs last_moment = 0;  // after which it can no longer begin, as told to the server
  TimestampMs stamped = 0;      // the time that was written into it
  std::string history;          // of the data that the reply is about; empty: not known
  int replicas = -1;            // how many had it when WAIT ended; -1: not asked
  bool found_counts = true;     // and what it found, where it wrote nothing
  bool asking = false;          // to `server`, which is taking over the slot
  bool slot_is_moving = false;  // which is all that stands in the way

  bool is_good() const { return reply && !reply.value().is_error(); }
};

}  // namespace oncekey::store
