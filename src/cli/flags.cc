#include "cli/flags.h"

#include "store/url_secrets.h"

namespace oncekey::cli {

std::string without_passwords_of(int argc, const char* const* argv, std::string text) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t scheme = word.find("://");
    if (scheme == word.npos) continue;
    const std::string url = word.substr(scheme);  // what is before it is never hidden
    const std::string shown = store::without_passwords(word).substr(scheme);
    for (std::size_t at = text.find(url); at != text.npos; at = text.find(url, at + shown.size())) {
      text.replace(at, url.size(), shown);
    }
  }
  return text;
}

}  // namespace oncekey::cli
