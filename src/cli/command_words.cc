#include "cli/command_words.h"

#include <utility>

namespace oncekey::cli {
namespace {

// Phrases as src/admin has them.
constexpr std::pair<std::string_view, std::string_view> phrases[] = {
    {"GET /v1/keys?key_prefix=… finds it", "oncekey key list --key-prefix … finds it"},
    {"GET /v1/routes lists them", "oncekey route list shows them"},
    {"GET /openapi.json lists what there is", "It may belong to another version"},
    {"/v1/status says how the store is", "oncekey status says how the store is"},
    {"say even_unknown", "say --even-unknown"},
    {"resolve it as not_executed", "resolve it with --not-executed"},
    {"Leave out body=1, or send such a token", "Leave out --body, or use such a token"},
    {"Leave out payload=1, or send such a token", "Leave out --payload, or use such a token"},
    {"Then send Authorization: Bearer TOKEN.",
     "Then give this command the same token: --token-file FILE, or its own ONCEKEY_ADMIN_TOKEN."},
    {"Send Authorization: Bearer TOKEN, with a token of yours.",
     "The admin port answers only those who have a token."},
};

}  // namespace

std::string in_command_words(std::string_view detail) {
  std::string text(detail);
  for (const auto& [said, meant] : phrases) {
    const std::size_t at = text.find(said);
    if (at != text.npos) text.replace(at, said.size(), meant);
  }
  return text;
}

}  // namespace oncekey::cli
