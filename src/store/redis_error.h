// What a Redis server's error says by its first word, and what is certain then.
#pragma once

#include <string>
#include <string_view>

namespace oncekey::store {

// "OOM", "MOVED", …, also where a script's error is wrapped, as up to version 6.2:
//   "ERR Error running script (call to f_…): @user_script:9: @user_script: 9: -OOM command …"
//   "@user_script: 9: -OOM command …" (a script gave back what redis.pcall returned)
std::string_view redis_error_code(std::string_view error);

// With these a command has certainly not been done.
bool is_not_done(std::string_view code);
// And these may be another answer soon.
bool is_passing(std::string_view code);

// What lacks is a right of the user, or the command itself: it will not pass. Said by the server,
// or of a call in a script, where each version has other words for it.
bool lacks_a_right(std::string_view error);
// The same with where to read what a user needs.
std::string with_what_a_user_needs(std::string_view error);

}  // namespace oncekey::store
