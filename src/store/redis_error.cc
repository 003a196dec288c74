#include "store/redis_error.h"

#include <algorithm>
#include <iterator>

namespace oncekey::store {
namespace {

constexpr std::string_view not_done[] = {
    "OOM",      "MISCONF",    "READONLY",   "LOADING", "BUSY",     "CLUSTERDOWN",
    "TRYAGAIN", "MASTERDOWN", "NOAUTH",     "NOPERM",  "NOSCRIPT", "MOVED",
    "ASK",      "CROSSSLOT",  "NOREPLICAS", "LATE",    "EARLY"};

// TRYAGAIN is none of these: a slot may be on the move for minutes.
constexpr std::string_view passing[] = {"READONLY", "LOADING", "BUSY", "CLUSTERDOWN", "MASTERDOWN"};

template <std::size_t size>
bool is_among(std::string_view code, const std::string_view (&codes)[size]) {
  return std::find(std::begin(codes), std::end(codes), code) != std::end(codes);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" \r\n"));
}

}  // namespace

std::string_view redis_error_code(std::string_view error) {
  const std::string_view code = first_word(error);
  if (code != "ERR" && !code.starts_with('@')) return code;
  for (std::size_t dash = error.find(" -"); dash != error.npos; dash = error.find(" -", dash + 1)) {
    const std::string_view inner = first_word(error.substr(dash + 2));
    if (is_not_done(inner)) return inner;
  }
  return code;
}

bool is_not_done(std::string_view code) {
  return is_among(code, not_done);
}

bool is_passing(std::string_view code) {
  return is_among(code, passing);
}

bool lacks_a_right(std::string_view error) {
  for (const std::string_view words :
       {"The user executing the script can't run", "can't access at least one of the keys",
        "ACL failure in script", "unknown command", "Unknown Redis command"}) {
    if (error.find(words) != error.npos) return true;
  }
  return redis_error_code(error) == "NOPERM";
}

std::string with_what_a_user_needs(std::string_view error) {
  return std::string(error) +
         "; the keys and commands that a user needs are in docs/stores.md, \"Access control\"";
}

}  // namespace oncekey::store
